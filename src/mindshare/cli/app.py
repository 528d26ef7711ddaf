"""The commands under one name. Adding one is a module with a function, and a line here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mindshare import __version__
from mindshare.cli.check_description import check_description
from mindshare.cli.demo import demo
from mindshare.cli.head_map import head_map
from mindshare.cli.insert import insert
from mindshare.cli.measure import measure
from mindshare.cli.models import models
from mindshare.cli.report import report
from mindshare.cli.run_study import run
from mindshare.cli.runs import runs
from mindshare.cli.shares import shares
from mindshare.cli.status import status
from mindshare.cli.tokens import tokens

COMMANDS = (
    *(demo, models, tokens, measure, shares, head_map, insert),
    *(run, status, runs, report, check_description),
)


def command() -> Any:
    """The whole command line as one click command."""
    app = typer.Typer(
        name="mindshare",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_start)
    for function in COMMANDS:
        app.command()(function)
    return typer.main.get_command(app)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"mindshare {__version__}")
        raise typer.Exit


def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Where a language model's attention goes: exact, per layer, head and token class.

    \b
    Begin with:
      mindshare demo
      mindshare tokens smollm2 --text '## ** ##' --class hash=# --class star='*'
      mindshare COMMAND --help
    """
