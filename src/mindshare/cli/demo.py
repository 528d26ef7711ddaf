"""`mindshare demo`: the first five minutes. Both studies in small, and one report of them.

    a map ─► where one model looks    maps ─► base against tuned    problems ─► an inserted run
                                      └─────────► report.html ◄─────────┘

Every sentence is made from the numbers in the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mindshare.charts import Chart
    from mindshare.cli.summary import Cell, Summary
    from mindshare.study import Measurement

ID = "demo"
MODEL, TUNED = "smollm2", "smollm2-phys"
PARTS = ("map", "pair", "insertion", "report")  # folders of a demo
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
    bool, typer.Option("--quick", help="Fewer maps and problems: under half a minute.")
]


@dataclass(frozen=True)
class Size:
    """How much of each study is run."""

    maps: int
    problems: int


FULL, FEW = Size(maps=12, problems=6), Size(maps=2, problems=2)


def demo(out: Out = Path("results/demo"), quick: Quick = False) -> None:
    """Run both studies in small on the embedded model, and make a report of them.

    \b
    Examples:
      mindshare demo
      mindshare demo --quick
      mindshare demo --out /tmp/first-look
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.report import write_report

    _require_own(out)
    console, size = stdout(), FEW if quick else FULL
    chart = _map(out / "map")
    say(console, "Three studies, each with its charts and tables:")
    say(console)
    found = [*sentences(chart.measurements[MODEL])[:1]]
    with _doing("Comparing the base and the tuned model on maps", "passes") as bar:
        from mindshare.recipes.building_blocks.study import run_study as maps

        pair = maps(MODEL, TUNED, out=out / "pair", n=size.maps, replace=True, progress=bar)
    found += [pair[1], pair[3]]
    with _doing("Inserting 55 slashes into word problems", "passes") as bar:
        from mindshare.recipes.meaningless_tokens.study import run_study as problems

        run = problems(MODEL, out=out / "insertion", n=size.problems, replace=True, report=bar)
    found += [run[1], run[2]]
    with _doing("Writing the report", "parts"):
        results = [out / name for name in ("pair", "insertion", "map")]
        written = write_report(
            results, out / "report", formats=("html", "md"), title=TITLE, replace=True
        )
    say(console, "Five findings")
    say(console)
    for number, sentence in enumerate(found, 1):
        say(console, f"{number}. {sentence}")
    say(console)
    say(console, f"Results: {out}")
    say(console, f"The report: {written[0]} (open it in a browser; PNGs of all charts beside it)")


@contextmanager
def _doing(what: str, unit: str) -> Iterator[Any]:
    """A line that says what is being done, and a progress bar where there is a terminal."""
    from mindshare.cli.screen import progress_bar, say, stdout

    say(stdout(), f"{what} …")
    with progress_bar(show=True, doing=what, what=unit) as bar:
        yield bar


def _map(folder: Path) -> Chart:
    """One map, one model: shown by token class, measured, drawn."""
    from mindshare.charts import shares
    from mindshare.charts.candidates import Loading
    from mindshare.cli.measure import show_tables
    from mindshare.cli.screen import say, stdout
    from mindshare.cli.tokens import show_classed
    from mindshare.models import load
    from mindshare.prompts import Prompt
    from mindshare.study import encode_for
    from mindshare.tokens import classify, parse_classes

    prompt, console = Prompt.from_text(TEXT, id=ID), stdout()
    loaded = load(MODEL)
    say(console, "A map as the model reads it, by token class")
    say(console)
    show_classed(console, classify(encode_for(loaded, prompt), parse_classes(CLASSES)))
    chart = shares({MODEL: loaded}, prompt, classes=CLASSES, width="page", loading=Loading())
    chart.save(folder, replace=True)
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
        f"its share: {space.mass:.4f} where uniform attention would give it {space.expected:.4f}."
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
    from mindshare.table import MANIFEST

    try:
        manifest = json.loads((folder / "map" / MANIFEST).read_text(encoding="utf-8"))
        return bool([p["id"] for p in manifest["models"][MODEL]["prompts"]] != [ID])
    except FileNotFoundError:
        return (folder / "map").exists()
    except (OSError, ValueError, KeyError, TypeError):
        return True
