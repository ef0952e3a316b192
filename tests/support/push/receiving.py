"""Receivers on a real port, and what agents would send to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import msgspec
from joserfc.jwk import ECKey

from dragoman.cli.serving.ports import address_of, listen
from dragoman.cli.serving.webhook import served
from dragoman.push import Receiver
from dragoman.push.jwt_signing import sign_jwt
from dragoman.push.receiving.exchange import Receive, Scope, Send

__all__ = ("TEXT", "TOKEN", "URL", "Sender", "served_app", "serving", "status")

TEXT: Final = "tok"
TOKEN: Final = {"X-A2A-Notification-Token": TEXT}
URL: Final = "https://me.example/hook"


def status(
    state: str = "COMPLETED", task_id: str = "t-1", *, at: str | None = "2026-01-02T03:04:05.000Z"
) -> bytes:
    """Return a status update of 1.0."""
    told: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if at is not None:
        told["timestamp"] = at
    update = {"taskId": task_id, "contextId": "c-1", "status": told}
    return msgspec.json.encode({"statusUpdate": update})


class Sender:
    """An agent that signs; ``jwks`` is what it shows of its keys."""

    def __init__(self, kid: str = "k-1") -> None:
        self.kid = kid
        self.key = ECKey.generate_key("P-256")

    @property
    def jwks(self) -> dict[str, object]:
        return {"keys": [{**self.key.as_dict(private=False), "kid": self.kid}]}

    def jwt(self, body: bytes, *, now_ms: int, name: str = "n-1", **changes: str) -> str:
        """Sign a body, for ``URL`` and task t-1 unless told otherwise."""
        told = {"url": URL, "task_id": "t-1", **changes}
        return sign_jwt(body, self.key, kid=self.kid, notification_id=name, now_ms=now_ms, **told)


@asynccontextmanager
async def serving(receiver: Receiver) -> AsyncGenerator[httpx2.AsyncClient]:
    """Serve a receiver, and yield a client whose base is its address."""
    with listen("127.0.0.1", 0) as listener:
        base = f"http://{address_of(listener)}"
        async with served(receiver, listener), httpx2.AsyncClient(base_url=base) as http:
            yield http


@asynccontextmanager
async def served_app(
    answer: Callable[[], tuple[int, object]],
) -> AsyncGenerator[str]:
    """Serve a document that may change, and yield its URL."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (event := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{event}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        code, document = answer()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(document)})

    with listen("127.0.0.1", 0) as listener:
        async with served(app, listener):
            yield f"http://{address_of(listener)}/.well-known/jwks.json"
