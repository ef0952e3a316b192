"""The webhook of a caller: it believes nobody but the agent, and writes down what it is told.

uvicorn hook:app, with KILN (the address of the agent), HOOK (its own) and NEWS (a file) set.
"""

import asyncio
import os
from pathlib import Path

from dragoman.push import Notification, Receiver

NEWS = Path(os.environ["NEWS"])


async def keep(notification: Notification) -> None:
    """Write a notification down; when this returns, the agent is told that it has arrived."""
    await asyncio.to_thread(write, notification.state.name if notification.state else "a result")


def write(line: str) -> None:
    with NEWS.open("a") as news:
        news.write(f"{line}\n")


app = Receiver(
    keep,
    token="let-me-in",  # noqa: S106 - of an example
    jwks=f"{os.environ['KILN']}/.well-known/jwks.json",
    url=os.environ["HOOK"],
)
