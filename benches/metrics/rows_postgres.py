"""The rows on PostgreSQL: one server, two replicas, and an event's way between them."""

from __future__ import annotations

import os
from typing import Final

from benches.metrics.row import Row
from benches.metrics.scenarios import (
    OURS_ELSEWHERE,
    OURS_HERE,
    OURS_IN_TURN,
    OURS_POSTGRES,
    OURS_REPLICAS,
    SDK_ELSEWHERE,
    SDK_POSTGRES,
)

__all__ = ("POSTGRES_ROWS",)

_HAS_CORES: Final = (os.cpu_count() or 1) >= 4
"""Whether each of two replicas has a core of its own, beside those of the load and the database."""

POSTGRES_ROWS: Final = (
    Row(
        "send-postgres",
        "SendMessage, PostgreSQL vs SDK PostgreSQL",
        "postgres",
        "per_second",
        "req/s",
        OURS_POSTGRES,
        SDK_POSTGRES,
        floor=30,
        goal=70,
    ),
    # What it costs to be one of two, each with a core to itself: at most a tenth more.
    Row(
        "replicas-in-turn",
        "Two replicas in turn against one, CPU",
        "replicas",
        "per_cpu_second",
        "req/cpu s",
        OURS_IN_TURN,
        limit=OURS_POSTGRES,
        of_limit=0.91,
        is_share_floor=True,
    ),
    # Where there are two cores, these two share one, and each finds its caches full of the other.
    Row(
        "replicas",
        "Two replicas against one, CPU",
        "replicas",
        "per_cpu_second",
        "req/cpu s",
        OURS_REPLICAS,
        limit=OURS_POSTGRES,
        of_limit=0.91,
        is_share_floor=_HAS_CORES,
    ),
    # Two cores carry the load and the database as well: what a second replica adds is seen on four.
    Row(
        "replicas-rate",
        "Two replicas against one, rate",
        "replicas",
        "per_second",
        "req/s",
        OURS_REPLICAS,
        limit=OURS_POSTGRES,
        of_limit=1.5,
        is_share_floor=_HAS_CORES,
    ),
    Row(
        "elsewhere",
        "An event's way to a reader at another replica",
        "elsewhere",
        "p50_ms",
        "ms",
        OURS_ELSEWHERE,
        SDK_ELSEWHERE,
        is_lower_better=True,
        floor=20,
        goal=100,
        limit=OURS_HERE,
    ),
)
