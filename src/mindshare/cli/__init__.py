"""The command line: arguments become a Study, tables become text on a terminal.

`main` is the entry point; `app` lists the commands. What is heavy is imported only when a command
runs, so that help is immediate. Nothing here computes attention.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from mindshare.errors import NO_ROOM, MindshareError, OutputError, screenful

MISTAKE, INTERRUPTED = 2, 130
BUG = "This is a bug in mindshare. Please report it with the command and the lines above."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 2 the user can mend it, 130 interrupted, 1 a bug."""
    _ready_streams()
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # while modules were imported
        code = INTERRUPTED
    if arguments is None:
        _leave(code)
    sys.exit(code)


def _ready_streams() -> None:
    """Both streams are there, and a character that one can't say is written as an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process at once, unless other threads are at work; whoever registered to be told of
    its end is. To free every object that torch brings, one by one, takes 0.6 s.
    """
    if any(not thread.daemon for thread in threading.enumerate()[1:]):
        return
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # closed
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    from mindshare.cli.app import command

    given = sys.argv[1:] if arguments is None else arguments
    chosen = next((word for word in given if not word.startswith("-")), "")
    return run_command(partial(command, chosen), arguments, name="mindshare")


def run_command(
    build: Callable[[], Any], arguments: Sequence[str] | None = None, *, name: str
) -> int:
    """Run a command line of that name; mistakes become messages, its exit code is returned."""
    from mindshare.cli.screen import tell_error

    try:
        code = _run(build, arguments, name)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has left, as `| head` does
        _discard(sys.stdout)
        return 1
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _discard(sys.stdout)
        try:
            where = f" to {error.filename}" if error.filename else ""
            tell_error(
                OutputError(
                    f"no more can be written{where}: {error.strerror}",
                    next_step="make room there, or send the output elsewhere",
                )
            )
        except OSError:  # nor can this
            _discard(sys.stderr)
        return MISTAKE


def _run(build: Callable[[], Any], arguments: Sequence[str] | None, name: str) -> int:
    import typer

    try:
        code = build().main(arguments, prog_name=name, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        code = INTERRUPTED if _interrupted(error) else _tell(error)
    if code == INTERRUPTED:  # newer parsers return it, older ones raise
        print("mindshare: stopped", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _tell(error: Exception) -> int:
    """The user's mistake in one message; any other error is raised again, as a bug."""
    from mindshare.cli.screen import tell_error

    if isinstance(error, MindshareError):
        tell_error(error)
    # The parser's own errors live in click or inside typer, by version.
    elif hasattr(error, "show") and hasattr(error, "exit_code"):
        error.message = screenful(str(error.message))  # type: ignore[attr-defined]
        error.show()
    else:
        error.add_note(BUG)
        raise error
    return MISTAKE


def _interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt is behind it: Python makes a RuntimeError of one that comes while a
    class is made, and whoever imports that class an error of its own.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _discard(stream: Any) -> None:
    """What is left in its buffer would be written, and fail, when the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
