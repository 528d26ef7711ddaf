"""`mindshare demo`: the main job on the embedded model, from an ASCII map to a table and a folder.

Every sentence is made from the numbers of the table above it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mindshare.cli.summary import Cell, Summary
    from mindshare.figures import Figure
    from mindshare.study import Measurement

ID = "demo"
MODEL = "smollm2"
FIGURE = "mass_by_class"
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


def demo(out: Out = Path("results/demo")) -> None:
    """Measure the embedded model on an ASCII map: tokens, masses per layer, what they say.

    \b
    Examples:
      mindshare demo
      mindshare demo --out /tmp/first-look
    """
    from mindshare.cli.destination import check_folder
    from mindshare.cli.measure import show_place, show_tables
    from mindshare.cli.screen import progress_bar, say, stdout
    from mindshare.cli.tokens import show_classed
    from mindshare.figures import save_figures
    from mindshare.models import load
    from mindshare.prompts import Prompt
    from mindshare.study import build_study, encode_for, measure
    from mindshare.tokens import classify

    _require_own(out)
    check_folder(out, replace=True)
    study = build_study(classes=CLASSES, measures=["mass", "received", "entropy", "distance"])
    prompt = Prompt.from_text(TEXT, id=ID)
    loaded, console = load(MODEL), stdout()
    say(console, "1. The prompt as the model reads it, by token class")
    say(console)
    show_classed(console, classify(encode_for(loaded, prompt), study.token_classes()))
    with progress_bar(show=True) as progress:
        found = measure(loaded, prompt, study=study, progress=progress)
    save_figures(
        [_figure(found)], out, tables=found.tables, manifest=found.provenance, replace=True
    )
    say(console)
    say(console, f"2. Where {MODEL} looks")
    say(console)
    show_tables(console, found)
    for sentence in sentences(found):
        say(console, sentence)
    say(console)
    say(console, f"The same as a picture: {out / FIGURE}.png (.svg, .pdf, .html, .csv)")
    show_place(console, out)


def _figure(found: Measurement) -> Figure:
    from mindshare.figures import ClassBarsOptions, class_bars
    from mindshare.stats import averaged, summarise

    options = ClassBarsOptions(width="page", name=FIGURE, title=f"Where {MODEL} looks in a map")
    return class_bars(summarise({MODEL: averaged(found.mass)}), options)


def sentences(found: Measurement) -> list[str]:
    """What the tables say, in words."""
    from statistics import fmean

    from mindshare.cli.summary import summaries

    summary = summaries(found)[0]
    space = summary.mean("space")
    above = sum((summary.cells[layer, "space"].lift or 0) > 1 for layer in summary.layers)
    first = fmean(found.heads.column("first_token").to_pylist())
    token = found.tokens.column("token")[0].as_py()
    return [
        _peak(summary, "hash"),
        _peak(summary, "star"),
        f"Whitespace gets {_against(space)} than its share: {space.mass:.4f} of the attention, "
        f"where uniform\nattention would give it {space.expected:.4f}; it gets more than that in "
        f"{above} of {len(summary.layers)} layers.",
        f"The first token alone ({token!r}) takes {first:.4f}, mean over all layers and heads.",
    ]


def _peak(summary: Summary, name: str) -> str:
    layer = summary.peak(name)
    cell = summary.cells[layer, name]
    return (
        f"The {name} tokens get most in layer {layer}: {cell.mass:.4f} of the attention, "
        f"{cell.lift:.2f} times\nwhat uniform attention would give them there."
    )


def _against(cell: Cell) -> str:
    return "more" if (cell.lift or 0) > 1 else "less"


def _require_own(folder: Path) -> None:
    """Only results of an earlier demo are replaced without being asked."""
    from mindshare.errors import OutputError

    if folder.exists() and not _is_earlier_demo(folder):
        raise OutputError(
            f"{folder} exists already, and is not an earlier demo's",
            next_step="choose another folder with --out",
        )


def _is_earlier_demo(folder: Path) -> bool:
    import json

    from mindshare.table import MANIFEST

    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return [prompt["id"] for prompt in manifest["prompts"]] == [ID]
    except (OSError, ValueError, KeyError, TypeError):
        return False
