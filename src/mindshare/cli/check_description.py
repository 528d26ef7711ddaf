"""`mindshare check-description`: does a text say what its table says? Do texts contradict?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

WRONG = 1  # exit code: some statement does not hold


def check_description(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXT TABLE | TEXT TEXT...",
            help="A text and a table (.parquet, .csv, or a folder of results), or several texts.",
        ),
    ],
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", metavar="X", min=0.0, help="How far a number may be off."),
    ] = 0.005,
) -> None:
    """Check the numbers of a description, ours or a person's, against the table it is about.

    Says of every numeric statement whether it holds, does not hold, or could not be read. Several
    texts without a table are compared with one another. Exit code 1 if a statement does not hold.

    \b
    Examples:
      mindshare check-description caption.txt results/maps
      mindshare check-description reader-a.txt reader-b.txt reader-c.txt
    """
    from mindshare.report import check_description as check
    from mindshare.report import compare_texts, read_numbers

    texts = [file for file in files if file.suffix.lower() in (".txt", ".md")]
    tables = [file for file in files if file not in texts]
    if len(tables) == 1 and len(texts) == 1:
        found = check(_text(texts[0]), read_numbers(tables[0]), tolerance=tolerance)
        _say([str(one) for one in found])
        raise typer.Exit(WRONG if any(one.holds is False for one in found) else 0)
    if tables or len(texts) < 2:
        from mindshare.errors import SelectionError

        raise SelectionError(
            f"{len(texts)} texts and {len(tables)} tables",
            allowed="one text (.txt, .md) and one table, or several texts",
        )
    differ = compare_texts({file.name: _text(file) for file in texts}, tolerance=tolerance)
    _say([str(one) for one in differ] or ["The texts do not contradict one another."])
    _say(differ.notes)
    raise typer.Exit(WRONG if differ else 0)


def _text(path: Path) -> str:
    from mindshare.prompts import read_text

    return read_text(path).text or ""


def _say(lines: Sequence[str]) -> None:
    from mindshare.cli.screen import say, stdout

    for line in lines:
        say(stdout(), line)
