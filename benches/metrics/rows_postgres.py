"""The rows on PostgreSQL: one server, two replicas, and an event's way between them."""

from __future__ import annotations

from typing import Final

from benches.metrics.row import Row
from benches.metrics.scenarios import (
    OURS_ELSEWHERE,
    OURS_HERE,
    OURS_POSTGRES,
    OURS_REPLICAS,
    SDK_ELSEWHERE,
    SDK_POSTGRES,
)
from benches.servers import HAS_CORES

__all__ = ("POSTGRES_ROWS",)

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
    # At most a tenth more for a request than one alone takes.
    Row(
        "replicas",
        "Two replicas against one, CPU",
        "replicas",
        "per_cpu_second",
        "req/cpu s",
        OURS_REPLICAS,
        limit=OURS_POSTGRES,
        of_limit=0.91,
        is_share_floor=True,
    ),
    # Two cores carry the load and the database as well, which may leave less than that to them.
    Row(
        "replicas-rate",
        "Two replicas against one, rate",
        "replicas",
        "per_second",
        "req/s",
        OURS_REPLICAS,
        limit=OURS_POSTGRES,
        of_limit=1.5,
        is_share_floor=HAS_CORES,
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
