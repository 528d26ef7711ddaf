"""The commands under one name, and `run`, which finds one by the name in a study file.

Adding a command is a function of option groups, and a line in COMMANDS. Packages that use mindshare
may add theirs: an entry point of the group `mindshare.commands`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mindshare import __version__
from mindshare.cli.groups import argument, read_study
from mindshare.cli.groups import command as grouped
from mindshare.cli.measure import head_map, insert, knockout, measure, parts, shares
from mindshare.cli.options import FORMATS, TRUST, BackendChoice, RunOutput
from mindshare.cli.preview import models, tokens
from mindshare.cli.results import redraw, report, runs, status
from mindshare.cli.screen import warn
from mindshare.errors import MindshareError

_MEASURING = (measure, shares, parts, head_map, insert, knockout)
RUNNABLE = {command.name: command for command in _MEASURING}


class RunOptions(BackendChoice, RunOutput):
    """What a study file can't say."""

    study: Path = argument("STUDY.toml", "A study file.")
    trust_remote_code: bool = TRUST
    formats: str | None = FORMATS


@grouped(RunOptions)
def run(options: RunOptions) -> None:
    """Run a study file: what `--save-study` writes, and what stands in every folder of results.

    \b
    Examples:
      mindshare run results/maps/study.toml --out results/again
      mindshare shares smollm2 --file map.txt --class hash=# \\
          --save-study map.toml
      mindshare run map.toml
      mindshare run maps.toml --on ray --address auto --workers 8 \\
          --out results/maps
    """
    saved, study = read_study(options.study, RUNNABLE)
    typed = {name: value for name, value in vars(options).items() if name in study.options}
    try:
        saved.function(study.having(**typed))
    except MindshareError as error:
        if error.where is None:  # whatever it is, the file says it
            raise error.within(str(options.study)) from None
        raise


COMMANDS: tuple[Any, ...] = (models, tokens, *RUNNABLE.values(), run, status, runs, redraw, report)


def command(chosen: str | None = None) -> Any:
    """The whole command line as one click command.

    With a word that was `chosen`, other commands than that have their help alone: to build the
    options of all of them takes longer than all the rest.
    """
    app = typer.Typer(
        name="mindshare",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_start)
    own = {function.name: function for function in COMMANDS}
    for name, function in (own if chosen in own else own | _added()).items():
        app.command(name)(function if chosen in (None, name) else _help_alone(function))
    return typer.main.get_command(app)


def _added() -> dict[str, Any]:
    """Commands of other packages, by name."""
    from importlib import metadata

    found = {}
    for added in metadata.entry_points(group="mindshare.commands"):
        try:
            found[added.name] = added.load()
        except ImportError as error:  # another package's trouble is not this one's
            warn(f"the command {added.name} ({added.value}) can't be loaded: {error}")
    return found


def _help_alone(function: Any) -> Any:
    def unbuilt() -> None: ...

    unbuilt.__doc__ = function.__doc__
    return unbuilt


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
