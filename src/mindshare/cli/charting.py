"""What the chart commands share: their own options, and the way from arguments to a saved chart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mindshare.cli.options import WHAT
from mindshare.errors import ClassRuleError, SelectionError, nearest

if TYPE_CHECKING:
    from mindshare.charts import Chart
    from mindshare.cli.sources import Source
    from mindshare.prompts import Prompt

LOOK = "How it looks"
MEASURES = ("mass", "share", "density", "expected", "lift")
_APART = ("out", "replace", "quiet", "progress", "save_study", "help")  # decide no number
_LABELLED = re.compile(r"(?P<label>[^=/\\]+)=(?P<model>.+)")

ModelsArgument: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="One model or several: 'smollm2', a hub id, a folder, a .gguf file, a PEFT adapter "
        "folder; NAME=MODEL gives it a name in the chart.",
        show_default=False,
    ),
]
MeasureOption: TypeAlias = Annotated[
    str,
    typer.Option("--measure", metavar="WORD", help=f"{', '.join(MEASURES)}.", rich_help_panel=WHAT),
]
LabelsOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--labels",
        metavar="WORD",
        help="Number layers and heads zero-based or one-based in the picture; options and tables "
        "stay zero-based.",
        rich_help_panel=LOOK,
    ),
]
PaletteOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--palette",
        metavar="WORD",
        help="seed (red, blue, grey, …) or safe (for colour-blind readers too).",
        rich_help_panel=LOOK,
    ),
]
WidthOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WORD",
        help="column (3.4 inches) or page (7 inches). (default: what the bars need)",
        rich_help_panel=LOOK,
        show_default=False,
    ),
]
TitleOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--title",
        metavar="TEXT",
        help="A title of your own.",
        rich_help_panel=LOOK,
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Run:
    """A chart that was asked for on the command line."""

    context: typer.Context
    models: Sequence[str]
    source: Source
    prompts: list[Prompt]
    definition: dict[str, Any]
    drawing: dict[str, Any]
    dtype: str
    trust_remote_code: bool
    progress: str
    quiet: bool
    save_study: Path | None = None

    def finish(
        self, draw: Callable[..., Chart], *, out: Path | None, replace: bool, **asked: Any
    ) -> None:
        """Measure, draw, save, and say what came of it and where it is."""
        from mindshare.charts.candidates import Loading
        from mindshare.cli.destination import check_folder
        from mindshare.cli.screen import progress_bar
        from mindshare.cli.status import warn_of_unasked

        if "measure" in asked:
            _check_measure(asked["measure"])
        if self.save_study is not None:
            from mindshare.cli.study_file import write_study

            write_study(self.save_study, self._study(), replace=replace)
            return
        folder = out or self._folder(draw.__name__, asked)
        if not self.source.many:
            check_folder(folder, replace=replace)
        asked |= self.definition | self.drawing
        asked["loading"] = Loading(
            dtype=self.dtype,
            trust_remote_code=self.trust_remote_code,
            progress=not self.quiet,
            place=self.context.obj,
        )
        with self._watched(folder, replace) as watching:
            chart = draw(labelled(self.models), self.prompts, **asked, **watching)
        with progress_bar(show=not self.quiet, doing="Drawing", what="figures") as drawing:
            chart.save(
                folder,
                replace=replace,
                progress=drawing,
                beside=self._study(),
                command=command_line(self.context),
            )
        if self.source.many:
            warn_of_unasked(folder)
        _show(chart, folder, quiet=self.quiet)

    @contextmanager
    def _watched(self, folder: Path, replace: bool) -> Iterator[dict[str, Any]]:
        """How the measuring is told of: a dataset's answers are kept on the way."""
        from mindshare.cli.progress import progress_form, run_progress
        from mindshare.cli.screen import progress_bar
        from mindshare.study import Into

        if self.source.many:
            with run_progress(progress_form(self.progress, self.quiet)) as told:
                rows = self.source.left_out
                yield {"into": Into(folder, self.source.on_bad_rows, replace, told, unread=rows)}
            return
        with progress_bar(show=not self.quiet) as bar:
            yield {"progress": None if bar is None else _of_all(bar, len(self.models))}

    def _study(self) -> dict[str, str]:
        """The command that is running, as the files of a study."""
        from mindshare.cli.study_file import study_files

        return study_files(self.context.command, self.context.params, self.prompts)

    def _folder(self, kind: str, asked: dict[str, Any]) -> Path:
        from mindshare.cli.destination import default_folder

        decides = {"kind": kind, **asked, **self.definition, **self.drawing, "dtype": self.dtype}
        name = "-".join([kind, *(Path(model).name for model in self.models)])
        return default_folder(name, self.prompts, **{k: str(v) for k, v in decides.items()})


def command_line(context: typer.Context) -> str:
    """The command that is running, as it can be typed again; where results go is left out."""
    words = ["mindshare", str(context.command.name)]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.name in _APART or value in (None, [], (), parameter.default):
            continue
        several = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
        flag = parameter.opts[0]
        if not flag.startswith("-"):
            words += several
        elif isinstance(value, bool):
            words += [flag] if value else list(parameter.secondary_opts[:1])
        else:
            words += [word for one in several for word in (flag, one)]
    return shlex.join(words)


def labelled(models: Sequence[str]) -> list[str] | dict[str, str]:
    """`Phys=smollm2-phys` names a model; models without a name are called by their reference."""
    from mindshare.charts.candidates import label_of

    found = [_LABELLED.fullmatch(text) for text in models]
    if not any(found):
        return list(models)
    pairs = [
        (match["label"].strip(), match["model"]) if match else (label_of(text), text)
        for match, text in zip(found, models, strict=True)
    ]
    names = [label for label, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SelectionError(
                f"{names.count(name)} models are called {name!r}",
                next_step="give each a name of its own: NAME=MODEL",
            )
    return dict(pairs)


def one_class(classes: Sequence[str] | None, show: str | None) -> str:
    """The class to draw: the one that is asked for, or the only one."""
    from mindshare.tokens import parse_classes

    names = parse_classes(classes or []).names[:-1]
    if show is not None:
        return show
    if len(names) != 1:
        raise ClassRuleError(
            f"{len(names)} classes are given, and a map shows one",
            next_step=f"choose with --show: {', '.join(names)}"
            if names
            else "give one, e.g. --class hash='#'",
        )
    return names[0]


def _check_measure(word: str) -> None:
    if word not in MEASURES:
        raise SelectionError(
            f"{word!r} can't be drawn by class{nearest(word, MEASURES)}",
            allowed=", ".join(MEASURES),
        )


def _of_all(progress: Callable[[int, int], None], models: int) -> Callable[[str, int, int], None]:
    """One bar for all models: prompts × models."""
    seen: dict[str, int] = {}

    def report(label: str, done: int, total: int) -> None:
        seen[label] = done
        progress(sum(seen.values()), models * total)

    return report


def _show(chart: Chart, folder: Path, *, quiet: bool) -> None:
    from mindshare.cli.screen import say, stdout, warn

    console = stdout()
    for note in chart.notes:
        warn(note)
    if quiet:
        say(console, str(folder))
        return
    for sentence in chart.findings:
        say(console, f"• {sentence}")
    for figure in () if chart.findings else chart.figures:
        say(console, figure.title)
        say(console, figure.description)
    say(console)
    say(console, f"Figures and tables: {folder}")
    for figure in chart.figures:
        say(console, f"  {figure.name}.png  .svg  .pdf  .html  .csv  .parquet  .json")
    say(console, f"  {', '.join(f'{name}.parquet' for name in chart.tables)}, manifest.json")
