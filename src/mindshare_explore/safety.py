"""Who may speak to the explorer: this machine, by its own name, with the secret of the address.

An ASGI layer in front of everything. Scripts and styles are no secret; whatever knows prompts or
models (`/api/…`) needs the token, as a header or in the address. There are no cookies, so no other
page can make a browser speak for its user.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mindshare.errors import MindshareError
from mindshare_explore.jobs import problem_of

LARGEST = 4 * 2**20  # bytes of a request
_LOCAL = ("127.0.0.1", "localhost", "[::1]")

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses before the app is asked; `hosts` are further names that it may be reached by.

    None: any name, for a server on every address, which can't know them all. Nothing but the token
    then stands against a page whose name is made to point here (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str] | None = ()) -> None:
        self.app, self.token = app, token
        self.hosts = None if hosts is None else {*_LOCAL, *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refusal = self._refusal(HTTPConnection(scope))
        if refusal is None:
            await self.app(scope, _bounded(receive), guarded)
            return
        status, what, next_step = refusal
        problem = problem_of(MindshareError(what, next_step=next_step))
        await JSONResponse({"problem": problem}, status)(scope, receive, guarded)

    def _refusal(self, asked: HTTPConnection) -> tuple[int, str, str] | None:
        headers, api = asked.headers, asked.scope["path"].startswith("/api")
        host = headers.get("host", "").lower()
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if self.hosts is not None and name not in self.hosts:
            return 403, "the explorer is not reached by this name", "use 127.0.0.1"
        origin = headers.get("origin")
        foreign = api and headers.get("sec-fetch-site") == "cross-site"
        if foreign or (origin is not None and _host_of(origin) != host):
            return 403, "another page may not speak to the explorer", "open its own address"
        length = headers.get("content-length", "0")
        digits = length.isascii() and length.isdigit() and len(length) < 20
        if not digits or int(length) > LARGEST:
            return 413, f"a request has at most {LARGEST:,} bytes", "send a shorter prompt"
        given = headers.get("authorization", "").removeprefix("Bearer ")
        given = given or asked.query_params.get("token", "")
        if api and not hmac.compare_digest(given.encode(), self.token.encode()):
            return 401, "the secret of the address is missing or wrong", "copy the printed address"
        return None


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _bounded(receive: Receive) -> Receive:
    """A body that goes on beyond what is allowed ends as if the client had left."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > LARGEST else message

    return limited
