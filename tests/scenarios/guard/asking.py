"""What the people of a guarded agent do: begin tasks, and ask for those of others."""

from __future__ import annotations

from itertools import count
from typing import Final

from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guarding import KEY_HEADER, Ask, Heard, call_of, hear, keyed
from tests.support.serving import Served
from tests.support.wire import message

__all__ = ("ADA", "BOB", "CAROL", "DAN", "ask", "begin", "client_of", "unknown")

ADA: Final = "key-of-ada"
BOB: Final = "key-of-bob"
CAROL: Final = "key-of-carol"
DAN: Final = "key-of-dan"

_numbers = count(1)


def unknown() -> str:
    """Return the id of a task that never was."""
    return f"01a1e2eb-0000-7000-8000-{next(_numbers):012x}"


def client_of(served: Served, key: str) -> HttpJson:
    """Return a client of somebody."""
    return HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: key})


async def begin(served: Served, key: str) -> str:
    """Begin a task that waits for its owner, and return its id."""
    async with client_of(served, key) as client:
        task = await client.task(message(metadata={"skillId": "ask"}))
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        return task["id"]


async def ask(wire: Binding, wish: Ask, key: str) -> Heard:
    """Ask for something."""
    return await hear(wire, *call_of(wire, wish), keyed(key))
