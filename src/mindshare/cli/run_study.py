"""`mindshare run`: a study file becomes the command it stands for, here or on other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindshare.cli.options import OutOption, ProgressOption, QuietOption, ReplaceOption

WHERE = "Where it runs"
RUNNABLE = ("measure", "shares", "head-map", "insert")

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="local (processes of this machine) or ray (a Ray cluster; pip install "
        "'mindshare\\[ray]'). (default: this process)",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Of a Ray cluster that runs already, or auto. (default: one is started here)",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="How many copies of the model. (default: what the machines hold)",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]


def run(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="A study file.")],
    on: On = None,
    address: Address = None,
    workers: Workers = None,
    out: OutOption = None,
    replace: ReplaceOption = False,
    progress: ProgressOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Run a study file: what `--save-study` writes, and what stands in every folder of results.

    \b
    Examples:
      mindshare run results/maps/study.toml --out results/again
      mindshare shares smollm2 --file map.txt --class hash=# --save-study map.toml
      mindshare run map.toml
      mindshare run maps.toml --on ray --address auto --workers 8 --out results/maps
    """
    from mindshare.cli.app import command
    from mindshare.cli.study_file import read_study
    from mindshare.errors import MindshareError, SelectionError

    commands = {name: one for name, one in command().commands.items() if name in RUNNABLE}
    arguments = read_study(file, commands)
    arguments += [] if out is None else ["--out", str(out)]
    arguments += ["--replace"] * replace + ["--quiet"] * quiet + ["--progress", progress]
    name, *rest = arguments
    place = _place(on, address, workers, name)
    try:
        commands[name].main(rest, prog_name=f"mindshare {name}", standalone_mode=False, obj=place)
    except MindshareError as error:
        if error.where is None:  # whatever it is, the file says it
            parts = {"allowed": error.allowed, "next_step": error.next_step}
            raise type(error)(error.what, where=str(file), **parts) from None
        raise
    except Exception as error:
        if not hasattr(error, "format_message"):  # not the parser's
            raise
        raise SelectionError(
            error.format_message(), where=str(file), next_step=f"see mindshare {name} --help"
        ) from None


def _place(on: str | None, address: str | None, workers: int | None, command: str) -> object:
    """Where the models run; None is this process."""
    from mindshare.errors import SelectionError

    if on is None and address is None and workers is None:
        return None
    if command == "insert":
        raise SelectionError(
            "an insertion compares passes inside one process, so it can't be spread",
            next_step="leave --on, --address and --workers out",
        )
    from mindshare.workers import Place

    return Place(on or "local", address, workers)
