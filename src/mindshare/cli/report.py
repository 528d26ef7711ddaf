"""`mindshare report`: folders of results become one document to read, publish and trust."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindshare.cli.options import RESULTS, QuietOption, ReplaceOption


def report(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT...", help="Folders that mindshare wrote.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")] = Path(
        "report"
    ),
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="WORD",
            help="html (one file), md (with PNGs) or pdf; repeatable. (default: html)",
            rich_help_panel=RESULTS,
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="A title of your own.", show_default=False),
    ] = None,
    replace: ReplaceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a report of saved results: question, definitions, charts, numbers, description, origin.

    No model is needed. The HTML form is one file that loads nothing from outside.

    \b
    Examples:
      mindshare report results/maps
      mindshare report results/maps results/slashes --format html --format md --out report
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.report import write_report

    written = write_report(
        results, out, formats=tuple(format_ or ["html"]), title=title, replace=replace
    )
    for path in written:
        say(stdout(), str(path) if quiet else f"The report: {path}")
