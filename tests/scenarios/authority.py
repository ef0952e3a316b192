"""An authorization server and an agent behind a guard, both over real sockets.

The authority speaks OAuth 2.0 to one client, ``me`` with ``s3cret``. The guard has the card that it
is given, and lets through to the agent who shows what it wants to see.
"""

from __future__ import annotations

import asyncio
import json
import socket
from base64 import b64decode
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

import uvicorn

from dragoman.dialects.v1_0.card import encode_card
from dragoman.model.cards import AgentCard
from dragoman.net.asgi import ASGIApp, Receive, Scope, Send

__all__ = ("Authority", "Guard", "Shown", "listening")

CLIENT: Final = ("me", "s3cret")


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve an application on a free port of the loopback and yield its URL."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, ws="none", access_log=False, lifespan="off")
    server = uvicorn.Server(config)

    async def serve() -> None:
        with listener:
            await server._serve(sockets=[listener])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - without its signal handling

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn offers nothing to wait on
            await asyncio.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True


class Shown(NamedTuple):
    """What a request shows of its sender."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    cookies: Mapping[str, str]

    @classmethod
    def by(cls, scope: Scope) -> Shown:
        """Look at a request."""
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        cookies = SimpleCookie(headers.get("cookie", ""))
        return cls(
            headers,
            dict(parse_qsl(scope["query_string"].decode())),
            {name: morsel.value for name, morsel in cookies.items()},
        )


async def answer(send: Send, status: int, body: bytes, **headers: str) -> None:
    pairs = {"content-type": "application/json", **headers}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})


class Guard:
    """Lets through to an agent who shows what it wants; remembers who did not."""

    def __init__(self, agent: ASGIApp, lets_in: Callable[[Shown], bool]) -> None:
        self._agent = agent
        self._lets_in = lets_in
        self.card: AgentCard | None = None
        self.seen: list[Shown] = []
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/.well-known/agent-card.json":
            assert self.card is not None
            await answer(send, 200, encode_card(self.card))
            return
        shown = Shown.by(scope)
        self.seen.append(shown)
        if self._lets_in(shown):
            await self._agent(scope, receive, send)
            return
        self.refused += 1
        await answer(send, 401, b"{}", **{"www-authenticate": "Bearer"})


class Authority:
    """Issues t1, t2 and so on; only the last one is good, until it is revoked.

    Attributes:
        interval: how often a device may ask, in seconds.
        lifetime: how long a token is good, in seconds.
        denial: what a person is told to have answered instead of agreeing.
        revoked: the tokens that were given back.
    """

    def __init__(self) -> None:
        self.url = ""
        self.interval = 5.0
        self.lifetime = 3600
        self.denial = ""
        self.revoked: list[str] = []
        self.issued = 0
        self.is_good = False
        self.asked: list[dict[str, str]] = []
        self.has_agreed = False
        self.polls = 0

    def knows(self, shown: Shown) -> bool:
        """Tell whether a request shows the token that is good."""
        token = f"Bearer t{self.issued}"
        return self.is_good and shown.headers.get("authorization") == token

    def revoke(self) -> None:
        """Make the last token worthless."""
        self.is_good = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        form = dict(parse_qsl(body.decode()))
        status, found = self._answer(scope["path"], form, Shown.by(scope))
        await answer(send, status, json.dumps(found).encode())

    def _answer(self, path: str, form: dict[str, str], shown: Shown) -> tuple[int, object]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, {
                    "issuer": self.url,
                    "token_endpoint": f"{self.url}/token",
                    "device_authorization_endpoint": f"{self.url}/device",
                    "revocation_endpoint": f"{self.url}/revoke",
                }
            case "/device":
                return 200, {
                    "device_code": "d",
                    "user_code": "WDJB-MJHT",
                    "verification_uri": f"{self.url}/go",
                    "expires_in": 600,
                    "interval": self.interval,
                }
            case "/revoke":
                self.revoked.append(form["token"])
                return 200, {}
            case "/token":
                self.asked.append(form)
                return self._token(form, shown)
            case _:
                return 404, {}

    def _token(self, form: dict[str, str], shown: Shown) -> tuple[int, object]:
        match form:
            case {"grant_type": "client_credentials"} if _client(form, shown) != CLIENT:
                return 401, {"error": "invalid_client"}
            case {"grant_type": "refresh_token", "refresh_token": refresh} if (
                refresh != f"r{self.issued}"
            ):
                return 400, {"error": "invalid_grant"}
            case {"device_code": _} if self.denial:
                return 400, {"error": self.denial}
            case {"device_code": _}:
                self.polls += 1
                if not self.has_agreed:
                    return 400, {
                        "error": "slow_down" if self.polls == 1 else "authorization_pending"
                    }
            case _:
                pass
        self.issued += 1
        self.is_good = True
        return 200, {
            "access_token": f"t{self.issued}",
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "refresh_token": f"r{self.issued}",
        }


def _client(form: Mapping[str, str], shown: Shown) -> tuple[str, str]:
    scheme, _, pair = shown.headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        name, _, secret = b64decode(pair).decode().partition(":")
        return name, secret
    return form.get("client_id", ""), form.get("client_secret", "")
