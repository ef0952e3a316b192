"""When a task is written down as it is, beside the log of what has happened to it."""

from __future__ import annotations

from typing import Final

from dragoman.engine.machine import Standing

__all__ = ("SNAPSHOT_EVENTS", "is_snapshot_due")

SNAPSHOT_EVENTS: Final = 1000
"""A snapshot is written after this many events, later whenever the log has grown by half: then the
snapshots of a task of n events cost no more than a multiple of n."""


def is_snapshot_due(standing: Standing, snapshot_seq: int) -> bool:
    """Tell whether to write one: at an end, at a pause, and now and then in between.

    Args:
        snapshot_seq: the event that the last one was written after.
    """
    state = standing.state
    if state is None:
        return False
    if state.is_terminal or state.is_interrupted:
        return True
    return standing.seq - snapshot_seq >= max(SNAPSHOT_EVENTS, snapshot_seq // 2)
