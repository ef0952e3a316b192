"""An agent under a prefix of a web application that does other things too.

Any ASGI framework mounts ``agent.app`` in one line. Here is what that line does. Run it with

    uvicorn app:app
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dragoman import Agent

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

agent = Agent("Echo", "Repeats what it is told.")


@agent.skill
async def echo(text: str) -> str:
    """Repeat a text."""
    return text


served = agent.asgi(store="memory:")


async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """Give the agent its prefix, and the start and stop of the server; answer the rest here."""
    if scope["type"] == "lifespan":
        await served(scope, receive, send)
    elif scope["path"] == "/agent" or scope["path"].startswith("/agent/"):
        await served({**scope, "root_path": scope["root_path"] + "/agent"}, receive, send)
    elif scope["type"] == "http":
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"The agent is at /agent\n"})
