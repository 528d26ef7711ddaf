"""`mindshare run`: a study file becomes the command it stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindshare.cli.options import OutOption, QuietOption, ReplaceOption


def run(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="A study file.")],
    out: OutOption = None,
    replace: ReplaceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study file: what `--save-study` writes, and what stands in every folder of results.

    \b
    Examples:
      mindshare run results/maps/study.toml --out results/again
      mindshare shares smollm2 --file map.txt --class hash=# --save-study map.toml
      mindshare run map.toml
    """
    from mindshare.cli.app import command
    from mindshare.cli.study_file import read_study
    from mindshare.errors import SelectionError

    commands = {name: one for name, one in command().commands.items() if name in RUNNABLE}
    arguments = read_study(file, commands)
    arguments += [] if out is None else ["--out", str(out)]
    arguments += ["--replace"] * replace + ["--quiet"] * quiet
    name, *rest = arguments
    try:
        commands[name].main(rest, prog_name=f"mindshare {name}", standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not the parser's
            raise
        raise SelectionError(
            error.format_message(), where=str(file), next_step=f"see mindshare {name} --help"
        ) from None


RUNNABLE = ("measure", "shares", "head-map", "insert")
