"""What a Python driver does for the scenarios, and how it is run.

A driver beside this file (``py_0_2.py``, ``py_0_3.py``, ``py_1_3.py``) says how its SDK does what a
``Peer`` does, and is run by that SDK's own python:

    python DRIVER URL BINDING SCENARIO...

BINDING is JSONRPC, HTTP+JSON or GRPC. Each scenario (all, if none is named) prints one line of JSON
with its name and what the SDK saw, or the trace of what went wrong.

Nothing here knows dragoman: what is printed is the SDK's reading of our wire, not ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NamedTuple, Protocol

__all__ = (
    "SCENARIO_SECONDS",
    "Content",
    "Data",
    "Json",
    "Peer",
    "Raw",
    "Scenario",
    "Url",
    "everything",
    "refusal",
    "run",
)

SCENARIO_SECONDS = 10.0
"""Longer than any scenario takes; what hangs is cut off here and shows where it hung."""

Json = dict[str, Any]


class Raw(NamedTuple):
    """A file by value."""

    content: bytes
    media_type: str
    filename: str = ""


class Url(NamedTuple):
    """A file by address."""

    url: str
    media_type: str
    filename: str


class Data(NamedTuple):
    """Structured data."""

    value: Any


Content = str | Raw | Url | Data


class Peer(Protocol):
    """The agent, as one SDK reaches it over one binding.

    What is returned is JSON as the SDK has it. Only that answers and events are wrapped in the name
    that 1.0 gives them: task, message, statusUpdate, artifactUpdate.

    Options of ``send`` and ``stream``: ``task`` (to continue it), ``task_id``, ``context_id``,
    ``metadata`` of the message, ``request_metadata``, ``references``, ``output_modes``, ``polling``
    (do not wait for the end), ``push_url``.
    """

    name: str

    async def card(self) -> Json: ...
    async def send(self, skill: str | None, *content: Content, **options: Any) -> Json: ...
    def stream(
        self, skill: str | None, *content: Content, **options: Any
    ) -> AsyncGenerator[Json, None]: ...
    async def get(self, task_id: str, history_length: int | None = None) -> Json: ...
    async def cancel(self, task_id: str) -> Json: ...
    def subscribe(self, task_id: str) -> AsyncGenerator[Json, None]: ...

    def push_calls(self, task_id: str, url: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        """Return the push-config calls that the SDK has: create, get, list, delete."""
        ...

    def facts(self, error: Exception) -> Json | None:
        """Tell an error of the agent, None for any other.

        The members are what the SDK lets its user see: ``error`` (a type for this error alone),
        ``code`` (of JSON-RPC), ``http`` and ``grpc`` (the status), ``message``, ``data``.
        """
        ...


Scenario = Callable[[Any], Awaitable[Any]]
"""Takes a Peer, or what a driver with scenarios of its own has made of it."""


async def everything(events: AsyncGenerator[Json, None]) -> list[Json]:
    return [event async for event in events]


async def refusal(peer: Peer, call: Awaitable[Any]) -> Json:
    """Return the error that a call ends with, or the result it should not have had."""
    try:
        result = await call
    except Exception as error:
        facts = peer.facts(error)
        if facts is None:
            raise
        return {name: value for name, value in facts.items() if value is not None}
    return {"result": result if isinstance(result, dict | list) else str(result)}


def run(connect: Callable[[str, str], Awaitable[Any]], scenarios: tuple[Scenario, ...]) -> None:
    """Play the scenarios that the command line names, or all, with ``connect(url, binding)``."""
    url, binding, *names = sys.argv[1:]
    chosen = [each for each in scenarios if not names or each.__name__ in names]
    asyncio.run(_play_all(connect(url, binding), chosen))


async def _play_all(connecting: Awaitable[Any], scenarios: list[Scenario]) -> None:
    peer = await connecting
    for scenario in scenarios:
        told = {"scenario": scenario.__name__, **await _play(peer, scenario)}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


async def _play(peer: Any, scenario: Scenario) -> Json:
    try:
        async with asyncio.timeout(SCENARIO_SECONDS):
            return {"saw": await scenario(peer)}
    except Exception:  # noqa: BLE001 - one scenario that breaks must not hide the others
        return {"trace": traceback.format_exc()}
