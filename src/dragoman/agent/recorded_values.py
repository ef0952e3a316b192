"""Recorded values: what a turn finds out once, and finds the same whenever it is run again.

They are the time, a fresh id, and what other tasks hold. A step (``steps``) is the author's own
code; these are ours, and have no effect that could be repeated.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from dragoman.agent.results import messages_of
from dragoman.model.messages import Message
from dragoman.model.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dragoman.service.worker import Turn

__all__ = ("earlier_messages", "fresh_id", "look_up", "time_now")

Value = TypeVar("Value", Message, Task)

_encode: Final = msgspec.json.Encoder().encode
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "conversation": msgspec.json.Decoder(tuple[Message, ...]),
    "related": msgspec.json.Decoder(tuple[Task, ...]),
}
"""How to read what was recorded, by kind."""


def time_now(turn: Turn) -> datetime:
    """Return the time, UTC."""
    recorded = turn.recall("now", "")
    if recorded is None:
        recorded = b"%d" % turn.now_ms()
        turn.note("now", "", recorded)
    return datetime.fromtimestamp(int(recorded) / 1000, UTC)


def fresh_id(turn: Turn) -> str:
    """Return an id that nothing else has."""
    recorded = turn.recall("id", "")
    if recorded is None:
        recorded = turn.new_id().encode()
        turn.note("id", "", recorded)
    return recorded.decode()


async def look_up(
    turn: Turn, kind: str, name: str, look: Callable[[], Awaitable[tuple[Value, ...]]]
) -> tuple[Value, ...]:
    """Return what was found by an earlier run; look for it, and record it, if there was none."""
    recorded = turn.recall(kind, name)
    if recorded is None:
        found = await look()
        await turn.record(kind, name, _encode(found))
        return found
    return cast("tuple[Value, ...]", _DECODERS[kind].decode(recorded))


async def earlier_messages(turn: Turn, limit: int) -> tuple[Message, ...]:
    """Return the last messages of earlier tasks of the same context, oldest first; not recorded."""
    # Every task has a message at least.
    earlier = await turn.earlier_tasks(limit) if limit > 0 else ()
    said: list[Message] = []
    for task in earlier:
        said[:0] = messages_of(task)
        if len(said) >= limit:
            break
    return tuple(said[-limit:])
