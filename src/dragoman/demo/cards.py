"""Another card than the agent's own: signed, tampered with, of an old version, or broken."""

from __future__ import annotations

from dragoman.net.asgi import REPLY, ASGIApp, Receive, Scope, Send
from dragoman.server.http.cards import CARD_PATHS

__all__ = ("with_card",)


def with_card(app: ASGIApp, card: bytes) -> ASGIApp:
    """Return the app with this card, shown byte for byte; all else stays as it is."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in CARD_PATHS:
            await app(scope, receive, send)
            return
        headers = ((b"content-type", b"application/json"), (b"cache-control", b"no-cache"))
        await send({"type": REPLY, "status": 200, "headers": headers, "body": card})

    return answer
