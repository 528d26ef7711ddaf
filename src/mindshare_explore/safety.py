"""Who may speak to the explorer: this machine, by its own name, with the secret of the address.

An ASGI layer in front of everything. Scripts and styles are no secret; whatever knows prompts or
models (`/api/…`) needs the token, as a header or in the address. There are no cookies, so no other
page can make a browser speak for its user.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

LARGEST = 4 * 2**20  # bytes of a request
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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
    """Refuses before the app is asked; `hosts` are further names that it may be reached by."""

    def __init__(self, app: App, *, token: str, hosts: Iterable[str] = ()) -> None:
        self.app, self.token = app, token
        self.hosts = {*_LOCAL, *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                added = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(guarded, *refusal)
            return
        await self.app(scope, _bounded(receive), guarded)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        if _name(headers.get("host", "")) not in self.hosts:
            return 403, "the explorer is not reached by this name", "use 127.0.0.1"
        origin = headers.get("origin")
        if origin is not None and not self._own(origin, headers):
            return 403, "another page may not speak to the explorer", "open its own address"
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith("/api"):
            return 403, "another page may not speak to the explorer", "open its own address"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST:
            return 413, f"a request has at most {LARGEST:,} bytes", "send a shorter prompt"
        if scope["path"].startswith("/api") and not self._knows(scope, headers):
            return 401, "the secret of the address is missing or wrong", "copy the printed address"
        return None

    def _own(self, origin: str, headers: dict[str, str]) -> bool:
        try:
            return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        except ValueError:
            return False

    def _knows(self, scope: Scope, headers: dict[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            given = (query.get("token") or [""])[0]
        return hmac.compare_digest(given.encode(), self.token.encode())


def _name(host: str) -> str:
    """A Host header without its port."""
    host = host.lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _bounded(receive: Receive) -> Receive:
    """A body that goes on beyond what is allowed ends as if the client had left."""
    seen = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > LARGEST else message

    return limited


async def _answer(send: Send, status: int, what: str, next_step: str) -> None:
    problem = {"what": what, "where": None, "allowed": None, "next_step": next_step}
    body = json.dumps({"problem": problem}).encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": kind})
    await send({"type": "http.response.body", "body": body})
