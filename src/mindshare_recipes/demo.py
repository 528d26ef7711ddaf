"""`mindshare demo`: the first five minutes. Three studies in small, and one report of them.

    a map ─► where one model looks    problems ─► an inserted run    maps ─► base against tuned
                                      └──────────► report.html ◄──────────┘

Every sentence is made from the numbers in the tables. While one study is measured, another process
draws the charts of the one before and makes its chapter of the report.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mindshare.api.charts import Chart
    from mindshare.cli.summary import Summary
    from mindshare.figures.saving import BackgroundProcess
    from mindshare.models import LoadedModel
    from mindshare.report.document import Chapter

ID = "demo"
MODEL, TUNED = "smollm2", "smollm2-phys"
CHAPTERS = ("pair", "insertion", "map")
PARTS = (*CHAPTERS, "report")  # folders of a demo
CLASSES = {"hash": "#", "star": "*", "space": "whitespace"}
# A shape in '#', its target in '*', and nothing but spaces around them.
MAP = (
    "                    ",
    "   ####             ",
    "   ##               ",
    "   ##               ",
    "                    ",
    "             ****   ",
    "             **     ",
    "             **     ",
    "                    ",
)
QUESTION = "Which way must the shape move to reach its target?"
TEXT = "\n".join(["Look at this map.", "", *MAP, "", QUESTION])

Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="The folder to write; an earlier demo is replaced."),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Fewer maps, problems and charts: half a minute.")
]


def demo(out: Out = Path("results/demo"), quick: Quick = False) -> None:
    """Run three studies in small on the embedded model, and make a report of them.

    \b
    Examples:
      mindshare demo
      mindshare demo --quick
      mindshare demo --out /tmp/first-look
    """
    from mindshare.cli.screen import say_lines
    from mindshare.errors import OutputError
    from mindshare.figures.saving import drawing_in_background

    if os.path.exists(out) and not _is_demo(out):
        raise OutputError(
            f"{out} exists already, and is not an earlier demo's",
            next_step="choose another folder with --out",
        )
    # Threads that wait must not spin: beside other work that made passes ten times slower. Read by
    # torch's threads when torch is first imported, which is after this.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with drawing_in_background() as helper:
        findings = _studies(out, quick, helper)
        with _doing("Drawing the last charts and writing the report", "parts"):
            report = helper.submit(_report, out, findings).result()
    numbered = [f"{number}. {finding}" for number, finding in enumerate(findings, 1)]
    say_lines(["", "Five findings", "", *numbered, "", f"Results: {out}"])
    say_lines([f"The report: {report} (open it in a browser; PNGs of all charts beside it)"])


def _studies(out: Path, quick: bool, helper: BackgroundProcess) -> list[str]:
    """Run all three, those with the most charts before the last: they are drawn meanwhile."""
    from mindshare.cli.screen import say_lines
    from mindshare.cli.summary import summaries
    from mindshare.models import load

    n = 6 if quick else 12  # maps, and problems
    base = load(MODEL)  # once for all studies, which take a model as well as its name
    chart = _map(base, out / "map", quick)
    say_lines(["Three studies, each with its charts and tables:", ""])
    helper.submit(_prepare, out, "map")
    with ThreadPoolExecutor(1) as background:
        tuned = background.submit(load, TUNED)
        with _doing("Inserting 55 slashes into word problems", "passes") as bar:
            from mindshare_recipes import meaningless_tokens

            inserted = meaningless_tokens.run_study(
                base,
                out=out / "insertion",
                n=n,
                replace=True,
                progress=bar,
                every_chart=not quick,
            )
    helper.submit(_prepare, out, "insertion")
    with _doing("Comparing the base and the tuned model on maps", "passes", models=2) as bar:
        from mindshare_recipes import building_blocks

        pair = building_blocks.run_study(
            base, tuned.result(), out=out / "pair", n=n, replace=True, progress=bar
        )
    of_map = finding(summaries(chart.measurements[MODEL])[0])
    system = [sentence for sentence in pair[2:] if " system " in sentence]
    # What holds over many prompts comes first: the first finding is the report's answer.
    return [pair[1], *system[:1], *inserted[1:3], of_map]


_chapters: dict[Path, Chapter] = {}  # by folder, in the process that draws


def _prepare(out: Path, name: str) -> None:
    """Make the chapter of a study whose charts are drawn, and their small pictures."""
    from mindshare.report import prepare

    folder = (out / name).resolve()
    _chapters[folder] = prepare(folder, number=1 + CHAPTERS.index(name))


def _report(out: Path, findings: list[str]) -> Path:
    from mindshare.report import write_report

    html, _ = write_report(
        [out / name for name in CHAPTERS],
        out / "report",
        formats=("html", "md"),
        title="Where a small model looks, and what changes it",
        replace=True,
        findings=findings,
        ready=_chapters,
    )
    return html


@contextmanager
def _doing(what: str, unit: str, models: int = 1) -> Iterator[Any]:
    """A line that says what is being done, and a progress bar where there is a terminal."""
    from mindshare.cli.screen import passes_bar, say_lines

    say_lines([f"{what} …"])
    with passes_bar(show=True, models=models, doing=what, what=unit) as bar:
        yield bar


def _map(model: LoadedModel, folder: Path, quick: bool) -> Chart:
    """One map, one model: shown by token class, measured, drawn."""
    from mindshare.api.charts import shares
    from mindshare.cli.preview import show_classed
    from mindshare.cli.screen import say_lines, stdout
    from mindshare.cli.summary import show_tables
    from mindshare.prompts import Prompt
    from mindshare.study import encode_for
    from mindshare.tokens import classify, parse_classes
    from mindshare_recipes.building_blocks import GLYPH_LABELS

    prompt, console = Prompt.from_text(TEXT, id=ID), stdout()
    say_lines(["A map as the model reads it, by token class", ""])
    show_classed(console, classify(encode_for(model, prompt), parse_classes(CLASSES)))
    chart = shares({MODEL: model}, prompt, classes=CLASSES, width="page", label=GLYPH_LABELS)
    chart.save(folder, replace=True, command="mindshare demo" + " --quick" * quick)
    say_lines(["", f"Where {MODEL} looks", ""])
    show_tables(console, chart.measurements[MODEL])
    say_lines([""])
    return chart


def finding(summary: Summary) -> str:
    """What the table of the map says, in words."""
    means = [summary.mean(name) for name in CLASSES]
    got, even = sum(mean.mass for mean in means), sum(mean.expected or 0.0 for mean in means)
    sizes = f"{100 * got:.0f} % of attention; an even spread would give them {100 * even:.0f} %"
    return f"In the study of one prompt, #, * and whitespace together get {sizes}."


def _is_demo(folder: Path) -> bool:
    """Whether it holds nothing but the results of an earlier demo."""
    from mindshare.folders import MANIFEST

    if not os.path.isdir(folder) or any(path.name not in PARTS for path in folder.iterdir()):
        return False
    try:
        manifest = json.loads((folder / "map" / MANIFEST).read_text(encoding="utf-8"))
        return [prompt["id"] for prompt in manifest["models"][MODEL]["prompts"]] == [ID]
    except FileNotFoundError:
        return not os.path.exists(folder / "map")  # killed before its first results
    except (OSError, ValueError, KeyError, TypeError):
        return False
