"""An explorer on a port of this machine: uvicorn, the secret address, the browser."""

from __future__ import annotations

import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindshare.errors import MindshareError, SelectionError

if TYPE_CHECKING:
    from mindshare_explore.session import Explorer

LOOPBACK = "127.0.0.1"
INSTALL = "pip install 'mindshare[explore]'"


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
        except (OSError, OverflowError) as error:
            listening.close()
            raise SelectionError(
                f"can't listen on {host}, port {port}: {error}",
                next_step="leave --port out, and any free one is taken",
            ) from None
        hosts = () if host == LOOPBACK else (host, socket.gethostname())
        app = create_app(explorer, token=token, hosts=hosts)
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
        host = f"[{self.host}]" if ":" in self.host else self.host
        shown = LOOPBACK if host in ("0.0.0.0", "[::]") else host
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
