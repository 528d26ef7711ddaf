"""`mindshare explore`: models and folders of results → a page to look around on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindshare.cli.screen import say_lines
from mindshare.errors import SelectionError

if TYPE_CHECKING:
    from mindshare.api.candidates import Candidate
    from mindshare_explore.session import Explorer

_PANEL = "The server"


def explore(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL | RESULTS]...",
            help="Models ('smollm2', a hub id, a folder, a .gguf file; NAME=MODEL names one), and "
            "folders of results. (default: smollm2)",
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page that needs no server, and start none."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Of an earlier --bundle.")] = False,
    browser: Annotated[
        bool, typer.Option(help="Open the page in the browser.", rich_help_panel=_PANEL)
    ] = True,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen; anything but this machine itself lets others in who know the "
            "address.",
            rich_help_panel=_PANEL,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0: any.", rich_help_panel=_PANEL)
    ] = 0,
    memory: Annotated[
        float,
        typer.Option(
            metavar="GB",
            min=0.05,
            help="For queries and keys that are kept.",
            rich_help_panel=_PANEL,
        ),
    ] = 2.0,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where measured prompts are written, so that a link still opens after a restart. "
            "(default: a folder in the user's cache)",
            rich_help_panel=_PANEL,
        ),
    ] = None,
) -> None:
    """Look around: hover a token, paint a class, find the heads that look there.

    Starts a server on this machine and prints its secret address. With results alone no model is
    loaded.

    \b
    Examples:
      mindshare explore smollm2
      mindshare explore smollm2 Tuned=./my-tuned-model
      mindshare explore results/maps
      mindshare explore results/maps --bundle maps-page
    """
    explorer = opened(what or ["smollm2"], memory=int(memory * 2**30), keep=keep)
    if bundle is not None:
        from mindshare_explore.bundle import write_bundle

        page = write_bundle(explorer, bundle, replace=replace)
        say_lines([f"The page: {page}"])
        return
    _serve(explorer, host=host, port=port, browser=browser)


def opened(what: Sequence[Any], *, memory: int | None = None, keep: Path | None = None) -> Explorer:
    """An explorer of models and folders; a folder with a manifest is one of results."""
    from mindshare.folders import MANIFEST
    from mindshare_explore.session import MEMORY, Explorer

    saved = [isinstance(one, str) and os.path.isfile(Path(one) / MANIFEST) for one in what]
    folders = [Path(one) for one, is_saved in zip(what, saved, strict=True) if is_saved]
    models = [one for one, is_saved in zip(what, saved, strict=True) if not is_saved]
    return Explorer(
        _candidates(models) if models else (),
        folders,
        folder=keep or _cache() if models else None,
        memory=memory or MEMORY,
    )


def _candidates(models: Sequence[Any]) -> list[Candidate]:
    """Labelled, and refused where their files say that they can't be measured."""
    from mindshare.api.candidates import Loading, candidates, label_of

    named: dict[str, Any] = {}
    for one in models:
        label, equals, reference = str(one).partition("=")
        if not isinstance(one, str) or not equals or "/" in label or os.path.exists(one):
            label, reference = label_of(one), one
        if label in named:
            raise SelectionError(f"two models are called {label!r}", next_step="write NAME=MODEL")
        named[label] = reference
    found = candidates(named, Loading(progress=False))
    for one in found:
        one.facts  # noqa: B018
    return found


def _cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("mindshare") / "explorer"


def _serve(explorer: Explorer, *, host: str, port: int, browser: bool) -> None:
    from mindshare_explore.server import Server
    from mindshare_explore.vega import warm

    warm()
    server = Server.bind(explorer, host=host, port=port)
    for label in explorer.models:
        explorer.load(label)  # while the page opens
    say_lines([f"The explorer: {server.address}", "Stop it with Ctrl-C."])
    sys.stdout.flush()
    if browser:
        import webbrowser

        webbrowser.open(server.address)
    try:
        server.run()
    finally:
        explorer.close()
