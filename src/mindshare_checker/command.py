"""`mindshare check-description`: does a text say what its table says? Do texts contradict?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.screen import say_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

# Exit codes; 2 is a mistake in the command.
HOLDS, WRONG, NOTHING = 0, 1, 3
_TEXTS = (".txt", ".md")


def check_description(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXT TABLE | TEXT TEXT...",
            help="A text (.txt, .md) and a table (.parquet, .csv, or a folder of results), or "
            "several texts.",
        ),
    ],
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            metavar="X",
            min=0.0,
            help="How far a number may be off, beyond what its last written digit leaves open.",
        ),
    ] = 0.0,
) -> None:
    """Check the numbers of a description, ours or a person's, against the table it is about.

    Says of every statement whether it holds, does not hold, or could not be read: numbers, what is
    highest or lowest in a layer, what is larger than what. A number is judged by the digits it is
    written with. Tables, code and the origin of a report are skipped. Several texts without a table
    are compared with one another.

    Exit codes: 0 all that could be compared holds; 1 something does not hold, or texts contradict;
    2 the command can't be run; 3 nothing could be compared.

    \b
    Examples:
      mindshare check-description caption.txt results/maps
      mindshare check-description reader-a.txt reader-b.txt reader-c.txt
    """
    texts = [file for file in files if file.suffix.lower() in _TEXTS]
    tables = [file for file in files if file not in texts]
    if len(tables) == 1 and len(texts) == 1:
        raise typer.Exit(_against_table(texts[0], tables[0], tolerance))
    if tables or len(texts) < 2:
        from mindshare.errors import SelectionError

        raise SelectionError(
            f"{len(texts)} texts and {len(tables)} tables",
            allowed="one text (.txt, .md) and one table, or several texts",
        )
    raise typer.Exit(_against_each_other(texts, tolerance))


def _against_table(text: Path, table: Path, tolerance: float) -> int:
    from mindshare_checker import check_description as check
    from mindshare_checker import read_tables

    checked = check(_text(text), read_tables(table), tolerance=tolerance)
    right, wrong, unread = (sum(one.holds is v for one in checked) for v in (True, False, None))
    hold = "statement holds" if right == 1 else "statements hold"
    do = "does" if wrong == 1 else "do"
    counts = f"{right} {hold}, {wrong} {do} not hold, {unread} could not be read."
    say_lines([*map(str, checked), counts])
    if wrong:
        return WRONG
    return HOLDS if right else _nothing("no statement could be read")


def _against_each_other(texts: Sequence[Path], tolerance: float) -> int:
    from mindshare_checker import compare_texts

    compared = compare_texts({file.name: _text(file) for file in texts}, tolerance=tolerance)
    say_lines(str(compared).splitlines())
    if compared.disagreements:
        return WRONG
    return HOLDS if compared.agreed else _nothing("no two texts say a number of the same thing")


def _nothing(why: str) -> int:
    say_lines([f"Nothing could be compared: {why}. That is no sign that all is right."])
    return NOTHING


def _text(path: Path) -> str:
    from mindshare.errors import OutputError
    from mindshare.limits import read_whole

    try:
        text = read_whole(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(
            f"{path} can't be read: {getattr(error, 'strerror', error)}",
            allowed="a text file in UTF-8",
        ) from error
    if not text.strip():
        raise OutputError(f"{path} is empty", next_step="write the description into it")
    return text
