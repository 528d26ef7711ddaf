"""`mindshare explore`: models and folders of results → a page to look around on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.screen import say_lines

if TYPE_CHECKING:
    from mindshare_explore.session import Explorer

_PANEL = "The server"
What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL | RESULTS]...",
        help="Models ('smollm2', a hub id, a folder, a .gguf file; NAME=MODEL names one), and "
        "folders of results. (default: smollm2)",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Where to listen; anything but this machine itself lets others in who know the "
        "address.",
        rich_help_panel=_PANEL,
    ),
]
Memory = Annotated[
    float,
    typer.Option(
        metavar="GB", min=0.05, help="For queries and keys that are kept.", rich_help_panel=_PANEL
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where measured prompts are written, so that a link still opens after a restart. "
        "(default: a folder in the user's cache)",
        rich_help_panel=_PANEL,
    ),
]


def explore(
    what: What = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page that needs no server, and start none."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Of an earlier --bundle.")] = False,
    browser: Annotated[
        bool, typer.Option(help="Open the page in the browser.", rich_help_panel=_PANEL)
    ] = True,
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0: any.", rich_help_panel=_PANEL)
    ] = 0,
    memory: Memory = 2.0,
    keep: Keep = None,
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
    from mindshare_explore.server import opened

    explorer = opened(what or ["smollm2"], memory=int(memory * 2**30), keep=keep)
    if bundle is not None:
        from mindshare_explore.page import write_bundle

        page = write_bundle(explorer, bundle, replace=replace)
        say_lines([f"The page: {page}"])
        return
    _serve(explorer, host=host, port=port, browser=browser)


def _serve(explorer: Explorer, *, host: str, port: int, browser: bool) -> None:
    from threading import Thread

    from mindshare_explore.page import vega
    from mindshare_explore.server import Server

    Thread(target=vega, name="vega", daemon=True).start()  # made while nobody waits for it
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
