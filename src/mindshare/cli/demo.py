"""`mindshare demo`: the first five minutes. Three studies in small, and one report of them.

    a map ─► where one model looks    problems ─► an inserted run    maps ─► base against tuned
                                      └──────────► report.html ◄──────────┘

Every sentence is made from the numbers in the tables. While one study is measured, a process of its
own draws the charts of the one before and makes its chapter of the report.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mindshare.charts import Chart
    from mindshare.cli.summary import Cell, Summary
    from mindshare.figures.meanwhile import Helper
    from mindshare.report.parts import Chapter
    from mindshare.study import Measurement

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
TITLE = "Where a small model looks, and what changes it"

Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="The folder to write; an earlier demo is replaced."),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Fewer maps, problems and charts: half a minute.")
]


@dataclass(frozen=True)
class Size:
    """How much of each study is run."""

    maps: int
    problems: int


FULL, FEW = Size(maps=12, problems=12), Size(maps=6, problems=6)


def demo(out: Out = Path("results/demo"), quick: Quick = False) -> None:
    """Run three studies in small on the embedded model, and make a report of them.

    \b
    Examples:
      mindshare demo
      mindshare demo --quick
      mindshare demo --out /tmp/first-look
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.figures.meanwhile import drawing_meanwhile

    _require_own(out)
    _share_the_cores()
    with drawing_meanwhile() as helper:
        found = _studies(out, FEW if quick else FULL, helper)
        with _doing("Drawing the last charts and writing the report", "parts"):
            written = helper.ask(_report, out, found).result()
    console = stdout()
    say(console)
    say(console, "Five findings")
    say(console)
    for number, sentence in enumerate(found, 1):
        say(console, f"{number}. {sentence}")
    say(console)
    say(console, f"Results: {out}")
    say(console, f"The report: {written} (open it in a browser; PNGs of all charts beside it)")


def _studies(out: Path, size: Size, helper: Helper) -> list[str]:
    """All three, those with the most charts before the last: they are drawn meanwhile."""
    from mindshare.cli.screen import say, stdout

    base = _in_memory(MODEL)
    chart = _map(base, out / "map", size)
    say(stdout(), "Three studies, each with its charts and tables:")
    say(stdout())
    helper.ask(_prepare, out, "map")
    with ThreadPoolExecutor(1) as meanwhile:
        tuned = meanwhile.submit(_in_memory, TUNED)
        with _doing("Inserting 55 slashes into word problems", "passes") as bar:
            from mindshare.recipes.meaningless_tokens.study import run_study as problems

            run = problems(
                base,
                out=out / "insertion",
                n=size.problems,
                replace=True,
                report=bar,
                every_chart=size == FULL,
            )
    helper.ask(_prepare, out, "insertion")
    with _doing("Comparing the base and the tuned model on maps", "passes") as bar:
        from mindshare.recipes.building_blocks.study import run_study as maps

        pair = maps(base, tuned.result(), out=out / "pair", n=size.maps, replace=True, progress=bar)
    others = [one for one in pair[2:] if "system prompt" in one]  # where the attention comes from
    return [*sentences(chart.measurements[MODEL])[:1], pair[1], *others[:1], run[1], run[2]]


_ready: dict[Path, Chapter] = {}  # of the process that draws


def _prepare(out: Path, name: str) -> None:
    """The chapter of a study whose charts are drawn, and their small pictures."""
    from mindshare.report.document import chapter
    from mindshare.report.html import small_png
    from mindshare.report.parts import Document
    from mindshare.report.saved import read_saved

    saved = read_saved((out / name).resolve())
    made = chapter(saved, number=1 + CHAPTERS.index(name))
    for picture in Document(name, (made,)).pictures():
        small_png(picture)
    _ready[saved.path] = made


def _report(out: Path, findings: list[str]) -> Path:
    from mindshare.report import write_report

    html, _ = write_report(
        [out / name for name in CHAPTERS],
        out / "report",
        formats=("html", "md"),
        title=TITLE,
        replace=True,
        findings=findings,
        ready=_ready,
    )
    return html


@contextmanager
def _doing(what: str, unit: str) -> Iterator[Any]:
    """A line that says what is being done, and a progress bar where there is a terminal."""
    from mindshare.cli.screen import progress_bar, say, stdout

    say(stdout(), f"{what} …")
    with progress_bar(show=True, doing=what, what=unit) as bar:
        yield bar


def _share_the_cores() -> None:
    """Threads that wait must not spin: beside other work that made passes ten times slower.

    Read by torch's threads when torch is first imported, which is after this.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _in_memory(name: str) -> Any:
    """Loaded once for all studies, which take a model as well as its name."""
    from mindshare.models import load

    return load(name)


def _map(model: Any, folder: Path, size: Size) -> Chart:
    """One map, one model: shown by token class, measured, drawn."""
    from mindshare.charts import shares
    from mindshare.charts.candidates import Loading
    from mindshare.cli.measure import show_tables
    from mindshare.cli.screen import say, stdout
    from mindshare.cli.tokens import show_classed
    from mindshare.prompts import Prompt
    from mindshare.study import encode_for
    from mindshare.tokens import classify, parse_classes

    prompt, console = Prompt.from_text(TEXT, id=ID), stdout()
    say(console, "A map as the model reads it, by token class")
    say(console)
    show_classed(console, classify(encode_for(model, prompt), parse_classes(CLASSES)))
    chart = shares({MODEL: model}, prompt, classes=CLASSES, width="page", loading=Loading())
    command = "mindshare demo --quick" if size == FEW else "mindshare demo"
    chart.save(folder, replace=True, command=command)
    say(console)
    say(console, f"Where {MODEL} looks")
    say(console)
    show_tables(console, chart.measurements[MODEL])
    say(console)
    return chart


def sentences(found: Measurement) -> list[str]:
    """What the table of the map says, in words."""
    from mindshare.cli.summary import summaries

    summary = summaries(found)[0]
    space = summary.mean("space")
    return [
        f"{_peak(summary, 'hash')} {_peak(summary, 'star')} Whitespace gets {_against(space)} than "
        f"uniform attention would give it: {space.mass:.4f} instead of {space.expected:.4f}, mean "
        "over layers, heads and queries."
    ]


def _peak(summary: Summary, name: str) -> str:
    layer = summary.peak(name)
    cell = summary.cells[layer, name]
    return (
        f"In one map, the {name} tokens get most in layer {layer}: {cell.mass:.4f} of the "
        f"attention, {cell.lift:.2f} times what uniform attention would give them."
    )


def _against(cell: Cell) -> str:
    return "more" if (cell.lift or 0) > 1 else "less"


def _require_own(folder: Path) -> None:
    """Only results of an earlier demo are replaced without being asked."""
    from mindshare.errors import OutputError

    others = [p.name for p in folder.iterdir() if p.name not in PARTS] if folder.is_dir() else []
    if (folder.exists() and not folder.is_dir()) or others or _holds_other_results(folder):
        raise OutputError(
            f"{folder} exists already, and is not an earlier demo's",
            next_step="choose another folder with --out",
        )


def _holds_other_results(folder: Path) -> bool:
    from mindshare.folders import MANIFEST

    try:
        manifest = json.loads((folder / "map" / MANIFEST).read_text(encoding="utf-8"))
        return bool([p["id"] for p in manifest["models"][MODEL]["prompts"]] != [ID])
    except FileNotFoundError:
        return (folder / "map").exists()
    except (OSError, ValueError, KeyError, TypeError):
        return True
