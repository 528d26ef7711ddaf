"""`python -m mindshare_explore …` is `mindshare explore …`, where the command is not installed."""

from __future__ import annotations

import sys
from typing import Any


def _app() -> Any:
    import typer

    from mindshare_explore.command import explore

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(explore)
    return typer.main.get_command(app)


if __name__ == "__main__":
    from mindshare.cli import run_command

    sys.exit(run_command(_app, name="mindshare explore"))
