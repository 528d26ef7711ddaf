"""The commands that measure: `measure` makes tables, the others make charts.

    options ─► refuse ─► read prompts ─► measure, with progress ─► save ─► say what came of it

A command names its option groups and the function that computes; `PreparedRun` is the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.cli.groups import command, study_files, write_study
from mindshare.cli.options import (
    ChartOptions,
    ComputeOptions,
    HeadMapStudy,
    InsertLook,
    InsertStudy,
    KnockoutOptions,
    LookOptions,
    MeasureOptions,
    MeasureStudy,
    PartsStudy,
    SharesStudy,
)
from mindshare.cli.results import check_folder, default_folder, warn_of_unasked
from mindshare.cli.screen import (
    check_form,
    passes_bar,
    progress_bar,
    run_progress,
    say,
    stderr,
    stdout,
    unmatched_text,
    warn,
    warn_of_some,
)
from mindshare.cli.sources import InsertSource, PartsSource, SourceOptions
from mindshare.cli.summary import show_measurement, tell_of_common_start
from mindshare.cli.values import figure_formats
from mindshare.errors import SelectionError

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.api.candidates import Candidate
    from mindshare.api.charts import Chart
    from mindshare.folders import Texts
    from mindshare.study import Measurement, PromptSource, RunFolder, Study

_FINDINGS, _TABLES = 8, 8  # of a chart that are printed one by one


@command(SourceOptions, MeasureStudy, MeasureOptions)
def measure(options: MeasureOptions) -> None:
    """Measure where the attention goes, by token class, per layer and head.

    \b
    Examples:
      mindshare measure smollm2 --text 'a ## b **' --class hash=# --class star='*'
      mindshare measure smollm2 --file map.txt --class space=whitespace \\
          --layers 0,5-9 --queries last --out results/map
      mindshare measure smollm2 --data rows.jsonl --class digit=digit --heads mean
    """
    from mindshare.api.candidates import Candidate, label_of
    from mindshare.study import build_study

    study = build_study(**options.keywords())
    # On a terminal, the bar of a run leaves no room for a spinner.
    shown = not (options.quiet or (options.many and stderr().is_terminal))
    loading = options.loading(progress=shown)
    prepared = PreparedRun.prepare(options, options.model)
    if prepared is None:
        return
    candidate = Candidate(label_of(options.adapter or options.model), options.model, loading)
    with prepared.progress() as target:
        result = _measure(candidate, study, prepared.prompts, **target)
    if not options.many:
        result.save(prepared.folder, replace=options.replace, beside=prepared.files)
    prepared.warn_of_unasked()
    left_out = result.provenance.get("left_out", {})
    reported = {place for place, _ in getattr(prepared.prompts, "bad", ())}
    warn_of_some(
        [
            f"left out: {prompt}: {why}"
            for prompt, why in left_out.items()
            if prompt not in reported
        ],
        f"{len(left_out):,} prompts left out in all: see mindshare status {prepared.folder}",
    )
    matched: set[str] = set()
    for rows in result.batches("classes", ["class", "n_tokens"]):
        matched.update(rows.filter(rows["n_tokens"].to_numpy() > 0)["class"].unique().to_pylist())
    unmatched = [name for name, _ in study.classes if name not in matched]
    if unmatched:
        warn(unmatched_text(unmatched, "any prompt"))
    show_measurement(result, prepared.folder, quiet=options.quiet, full=options.full)


def _measure(
    candidate: Candidate,
    study: Study,
    prompts: PromptSource,
    *,
    into: RunFolder | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Measurement:
    """Tables in memory, or streamed into a run, which is refused before any weights are read."""
    from mindshare.models.pretrained import line_if_slow
    from mindshare.study import Measurer, PromptEncoder, write_tables

    label = candidate.label
    if into is not None:
        into.check(study.fixed_parts())
    candidate.check(study)
    encoder = PromptEncoder(candidate.tokenizer, study)
    if into is None or into.bad_rows == "stop":
        encoder.encode_ahead(prompts)
    slow = line_if_slow(f"Measuring with {label}", show=candidate.loading.progress)
    if into is None:
        report = None if progress is None else partial(progress, label)
        with candidate.backend() as backend, slow:
            return Measurer(encoder, backend, progress=report).measure(prompts)
    with into.open(study, {label: prompts}) as run, candidate.backend() as backend, slow:
        measurer = Measurer(encoder, backend, run.results(label), run.progress(label))
        return write_tables(measurer, prompts, run)


@command(SourceOptions, SharesStudy, ChartOptions, LookOptions)
def shares(options: ChartOptions) -> None:
    """Draw how much attention each token class gets, layer by layer, one bar per model.

    \b
    Examples:
      mindshare shares smollm2 --file map.txt --class hash=# --class star='*' \\
          --class space=whitespace
      mindshare shares smollm2 Phys=smollm2-phys --data maps/test.jsonl \\
          --layers 0,17,21,29 --class hash=# --class star='*' --queries last
      mindshare shares smollm2 --chat chat.json --class system=role:system \\
          --class user=role:user --measure share
    """
    from mindshare.api.charts import shares as draw

    _draw_chart(draw, options)


@command(SourceOptions, HeadMapStudy, ChartOptions, LookOptions)
def head_map(options: ChartOptions) -> None:
    """Draw one token class by layer and head: one map per model, and what differs from the first.

    \b
    Examples:
      mindshare head-map smollm2 --file map.txt --class hash=#
      mindshare head-map smollm2 smollm2-phys --data maps/test.jsonl \\
          --class hash=# --class star='*' --show star --queries last
    """
    from mindshare.api.charts import head_map as draw

    _draw_chart(draw, options)


@command(PartsSource, PartsStudy, ChartOptions, LookOptions)
def parts(options: ChartOptions) -> None:
    """Show how much attention each part of a prompt gets, and which part is ignored.

    Parts are found: marks, messages, headings or paragraphs.

    \b
    Examples:
      mindshare parts smollm2 --chat chat.json
      mindshare parts smollm2 --file prompt.txt --queries all
      mindshare parts smollm2 --chat A=a.json --chat B=b.json
      mindshare parts smollm2 smollm2-phys --file prompt.txt --marked
    """
    from mindshare.api.parts import parts as draw

    _draw_chart(draw, options)


@command(InsertSource, InsertStudy, ChartOptions, InsertLook)
def insert(options: ChartOptions) -> None:
    """Show what an inserted run of tokens does to the attention of every head.

    \b
    Examples:
      mindshare insert smollm2 --system 'Reason step by step.' \\
          --prompt 'What is 17 × 12?' --insert '/ *55' --against random-sentence
      mindshare insert smollm2 --data problems.jsonl --insert '/ *55' \\
          --heads 0.0,0.1,0.7 --workers 2
      mindshare insert smollm2 --data problems.jsonl \\
          --insert '/ *10,25,40,55' --insert 'he *55' --at between --at end
    """
    from mindshare.api.insertion import insertion as draw

    _draw_chart(draw, options)


@command(SourceOptions, KnockoutOptions, ChartOptions, LookOptions)
def knockout(options: Any) -> None:
    """Hide token classes from chosen queries, heads and layers: what does the answer lose?

    \b
    Examples:
      mindshare knockout smollm2 --text 'The capital of France is' \\
          --class france=re:France --answer greedy
      mindshare knockout smollm2 smollm2-phys --data maps/test.jsonl \\
          --class star='*@maps' --class hash='#@maps' --window 5
      mindshare knockout smollm2-phys --data maps/test.jsonl \\
          --class maps=span:maps --heads each --screen 20
    """
    from mindshare.api.knockout import knockout as draw

    if options.answer != "given" and not options.answer.startswith("greedy"):
        # A column like any other: a study file keeps the answers.
        column = (*options.column, f"answer={options.answer}")
        options = options.having(column=column, answer="given")
    _draw_chart(draw, options, tell=None if options.quiet else partial(say, stderr()))


def _draw_chart(draw: Callable[..., Chart], options: ChartOptions, **extra: Any) -> None:
    """Measure, draw and save; `extra` are keywords of `draw` beside the options."""
    from mindshare.store import figures_drawn

    keywords, formats = options.keywords() | extra, figure_formats(options.formats)
    models, quiet = labelled(options.models), options.quiet
    name = "-".join([draw.__name__, *(Path(model).name for model in options.models)])
    loading = options.loading(progress=not quiet)
    prepared = PreparedRun.prepare(options, name)
    if prepared is None:
        return
    drawn_before = figures_drawn(prepared.folder)
    with prepared.progress(models=len(models)) as target:
        chart = draw(models, prepared.prompts, **keywords, loading=loading, **target)
    with progress_bar(show=not quiet, doing="Drawing", what="figures") as bar:
        chart.save(
            prepared.folder,
            replace=options.replace,
            progress=bar,
            beside=prepared.files,
            command=options.line(),
            **({"formats": formats} if formats else {}),
        )
    prepared.warn_of_unasked()
    _show_chart(chart, prepared.folder, formats, quiet=quiet)
    names, there = {figure.name for figure in chart.figures}, figures_drawn(prepared.folder)
    others = [one for one in drawn_before if one not in names]
    changed = [n for n, how in drawn_before.items() if n in names and there.get(n) != how]
    for what, of_these in {
        "in place of what earlier commands drew by these names": [] if options.replace else changed,
        "beside figures of earlier commands": [one for one in others if one in there],
        "in place of (--replace) what is no longer there": [o for o in others if o not in there],
    }.items():
        if of_these and not quiet:
            say(stdout(), f"  {what}: {', '.join(of_these)}")


def labelled(models: Sequence[str]) -> list[str] | dict[str, str]:
    """`Phys=smollm2-phys` names a model; models without a name are called by their reference."""
    from mindshare.api.candidates import label_of, named

    read = [named(text) for text in models]
    if not any(label for label, _ in read):
        return list(models)
    pairs = [(label or label_of(model), model) for label, model in read]
    names = [label for label, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SelectionError(
                f"{names.count(name)} models are called {name!r}",
                next_step="give each a name of its own: NAME=MODEL",
            )
    return dict(pairs)


def _show_chart(chart: Chart, folder: Path, formats: Sequence[str], *, quiet: bool) -> None:
    from mindshare.figures import FORMATS
    from mindshare.figures.figure import labels_of
    from mindshare.tables import ONE_BASED, one_based

    console = stdout()
    warn_of_some(chart.notes, f"{len(chart.notes):,} notes in all: see manifest.json", most=20)
    if quiet:
        say(console, str(folder))
        return
    for sentence in chart.findings[:_FINDINGS]:
        say(console, f"• {sentence}")
    if (more := len(chart.findings) - _FINDINGS) > 0:
        say(console, f"  {more} more: mindshare report {folder}, or manifest.json there")
    for figure in () if chart.findings else chart.figures:
        say(console, figure.title)
        say(console, figure.description)
    counted = labels_of(chart.figures) == ONE_BASED  # lines count as the pictures do
    for name, table in chart.tables.items():
        if name.startswith("largest_"):
            for line in largest_lines(one_based(table) if counted else table):
                say(console, line)
    say(console)
    tell_of_common_start(chart.measurements.values())
    say(console, f"Figures and tables: {folder}")
    for figure in chart.figures:
        say(console, f"  {figure.name}{'  '.join(f'.{word}' for word in formats or FORMATS)}")
    tables = [f"{name}.parquet" for name in chart.tables]
    if len(tables) > _TABLES:
        tables = [f"{len(tables)} tables (.parquet)"]
    say(console, f"  {', '.join([*tables, 'manifest.json'])}")


def largest_lines(table: pa.Table) -> Iterator[str]:
    """The largest differences between two models, one line each."""
    from mindshare.facts.cells import Number
    from mindshare.facts.words import count, value, where, written

    for i, row in enumerate(table.to_pylist()):
        if i == 0:
            yield f"Largest differences, {row['model_b']} minus {row['model_a']}:"
        if row["difference"] is None:
            continue
        number = Number.from_row(row, "difference")
        place = where((row["layer"], row["head"]))
        named = f"{row['class']}, {place}" if row["class"] else place
        difference = f"  {named}: {value(number, '', sign=True)}"
        every = number.n_prompts + number.n_absent
        over = f"{number.n_prompts:,} of {count(every, 'prompt')}" if number.n_absent else ""
        if number.p_family is None or not number.has_interval:  # of a few prompts: chance
            yield f"{difference}, {over + ': ' if over else ''}not tested"
            continue
        size = "" if number.effect is None else f", effect {written(number.effect, 2, sign=True)}"
        yield f"{difference}{size}, p_family {number.p_family:.2g}{', ' + over if over else ''}"


@dataclass(frozen=True)
class PreparedRun:
    """What is to be measured by one command, and where the results go."""

    options: ComputeOptions
    prompts: PromptSource
    files: Texts  # the study file and its prompts, to be saved beside the results
    folder: Path

    @classmethod
    def prepare(cls, options: ComputeOptions, name: str) -> PreparedRun | None:
        """Read the prompts, choose and check the folder; None: only a study file was wanted.

        `name` begins that of the default folder.
        """
        from mindshare.study import as_prompts

        check_form(options.progress)
        prompts = as_prompts(options.prompts())
        if options.save_study is not None:
            write_study(options.save_study, options, prompts, replace=options.replace)
            return None
        folder = options.out or default_folder(name, study_files(options, prompts))
        if not options.many:  # a run may be there already: it is resumed
            check_folder(folder, replace=options.replace)
        start_engine()
        return cls(options, prompts, study_files(options, prompts), folder)

    @contextmanager
    def progress(self, models: int = 1) -> Iterator[dict[str, Any]]:
        """`into` for a dataset, whose results are kept as they come; `progress` for the others."""
        from mindshare.study import RunFolder

        quiet, options = self.options.quiet, self.options
        if options.many:
            with run_progress(options.progress, quiet=quiet) as progress:
                into = RunFolder(
                    self.folder,
                    bad_rows="skip" if options.skips else "stop",
                    replace=options.replace,
                    progress=progress,
                    beside=self.files,
                    tell=warn,
                )
                yield {"into": into}
            return
        with passes_bar(show=not quiet, models=models) as report:
            yield {"progress": report}

    def warn_of_unasked(self) -> None:
        if self.options.many:
            warn_of_unasked(self.folder)


@cache
def start_engine() -> None:
    """Ready this process for measuring: it keeps its memory, and imports what takes longest.

    What nothing here needs is passed over: pyarrow would import pandas for its first array
    (0.15 s), and transformers SciPy for losses of object detection (0.2 s).
    """
    from mindshare.models.processor import keep_memory, without_gc

    keep_memory()
    with without_gc():
        import pyarrow as pa

        if "scipy" not in sys.modules:
            sys.modules["scipy"] = None  # type: ignore[assignment]  # transformers looks once
        import transformers.models.auto  # noqa: F401

        if sys.modules["scipy"] is None:
            del sys.modules["scipy"]
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """An importer that knows of no pandas; `to_pandas` finds it once this is gone."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)
