"""Models and folders → an explorer on a port of this machine, or in a frame of a notebook."""

from __future__ import annotations

import html
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import MindshareError, SelectionError
from mindshare.folders import MANIFEST
from mindshare_explore.session import MEMORY, Explorer

if TYPE_CHECKING:
    from mindshare.api.candidates import Candidate

LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = ("0.0.0.0", "::")
INSTALL = "pip install 'mindshare[explore]'"


def opened(what: Sequence[Any], *, memory: int | None = None, keep: Path | None = None) -> Explorer:
    """An explorer of models and folders; a folder with a manifest is one of results."""
    saved = [isinstance(one, str) and os.path.isfile(Path(one) / MANIFEST) for one in what]
    folders = [Path(one) for one, is_saved in zip(what, saved, strict=True) if is_saved]
    models = [one for one, is_saved in zip(what, saved, strict=True) if not is_saved]
    if not models:
        return Explorer((), folders, memory=memory or MEMORY)
    from mindshare.models.files import cache_directory

    folder = keep or cache_directory() / "explorer"
    return Explorer(_candidates(models), folders, folder=folder, memory=memory or MEMORY)


def _candidates(models: Sequence[Any]) -> list[Candidate]:
    """Labelled, and refused where their files say that they can't be measured."""
    from mindshare.api.candidates import Loading, candidates, label_of, named
    from mindshare.study import Study

    by_label: dict[str, Any] = {}
    for one in models:
        label, reference = named(one) if isinstance(one, str) else (None, one)
        label = label or label_of(reference)
        if label in by_label:
            raise SelectionError(f"two models are called {label!r}", next_step="write NAME=MODEL")
        by_label[label] = reference
    found = candidates(by_label, Loading(progress=False))
    for one in found:
        one.check(Study())
    return found


def in_url(host: str) -> str:
    """IPv6 stands in brackets."""
    return f"[{host}]" if ":" in host else host


def names_of(host: str) -> tuple[str, ...] | None:
    """What callers may call a server that listens there; None: anything, see `Guard`."""
    if host in EVERY_ADDRESS:
        return None
    return () if host == LOOPBACK else (in_url(host), socket.gethostname())


@dataclass
class Server:
    """A bound port, and the app that will answer there."""

    explorer: Explorer
    token: str
    socket: socket.socket
    host: str
    _uvicorn: Any

    @classmethod
    def bind(
        cls, explorer: Explorer, *, host: str = LOOPBACK, port: int = 0, token: str | None = None
    ) -> Server:
        """Port 0: any that is free."""
        try:
            import uvicorn

            from mindshare_explore.app import create_app
        except ImportError as error:
            raise MindshareError(
                f"the explorer needs {error.name}, which is not installed", next_step=INSTALL
            ) from error
        token = token or secrets.token_urlsafe(24)
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # who comes before the app runs waits, and is not turned away
        except (OSError, OverflowError) as error:
            listening.close()
            raise SelectionError(
                f"can't listen on {host}, port {port}: {error}",
                next_step="leave --port out, and any free one is taken",
            ) from None
        app = create_app(explorer, token=token, hosts=names_of(host))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        return cls(explorer, token, listening, host, uvicorn.Server(config))

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        shown = LOOPBACK if self.host in EVERY_ADDRESS else in_url(self.host)
        return f"http://{shown}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Answer until interrupted."""
        with suppress(KeyboardInterrupt):
            self._uvicorn.run(sockets=[self.socket])

    def start(self) -> threading.Thread:
        """Answer in a thread: for notebooks and tests."""
        thread = threading.Thread(target=self.run, name="explorer server", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        self._uvicorn.should_exit = True


class ExplorerFrame:
    """Shows itself in a notebook. The server ends with `close`, or with the process."""

    def __init__(self, explorer: Explorer, server: Server, prompt: str | None, height: int) -> None:
        self.explorer, self.server = explorer, server
        self._prompt, self._height = prompt, height

    @property
    def address(self) -> str:
        return self.server.address + (f"#prompt={self._prompt}" if self._prompt else "")

    def __repr__(self) -> str:
        return f"ExplorerFrame({self.address})"

    def _repr_html_(self) -> str:
        """The live page; below it, folded, the page as it was when the cell ran."""
        size = f'style="width:100%;height:{self._height}px;border:0"'
        live = (
            f'<iframe src="{html.escape(self.address)}" {size} title="mindshare explorer"></iframe>'
        )
        saved = self._saved()
        if saved is None:
            return live
        kept = f'<iframe srcdoc="{html.escape(saved)}" {size} title="saved explorer"></iframe>'
        words = "As it was when this cell ran: works without a server"
        return f"{live}<details><summary>{words}</summary>{kept}</details>"

    def _saved(self) -> str | None:
        from mindshare_explore.page import one_page

        sources = list(self.explorer.results.values())
        if self._prompt is not None:
            sources = [self.explorer.source(self._prompt)]
        return one_page(self.explorer, sources) if sources else None

    def close(self) -> None:
        self.server.stop()
        self.explorer.close()


def explore(*what: Any, prompt: Any = None, height: int = 760) -> ExplorerFrame:
    """Models (loaded, or by reference) and folders of results, in a frame.

        mindshare.explore("smollm2", prompt="Draw: ##**")
        mindshare.explore("results/maps")

    With a `prompt`, a text or a list of messages, it is measured in the first model first.
    """
    explorer = opened([str(one) if isinstance(one, Path) else one for one in what or ("smollm2",)])
    found: str | None = None
    if prompt is not None and explorer.models:
        from mindshare.prompts.given import as_prompts

        label = next(iter(explorer.models))
        (single,) = as_prompts(prompt)
        job = explorer.jobs.wait(explorer.measure(label, single))
        if job.problem is not None:
            problem = {k: v for k, v in job.problem.items() if k != "what"}
            raise MindshareError(str(job.problem["what"]), **problem)
        found = job.result
    elif explorer.results:
        found = next(iter(explorer.results))
    server = Server.bind(explorer)
    server.start()
    return ExplorerFrame(explorer, server, found, height)
