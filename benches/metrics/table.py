"""What is measured, as data: scenarios (who is sampled how) and rows (who is compared with whom).

Floors and goals are multiples in our favour, whichever way the value itself points: a page of
ListTasks in a fortieth of the SDK's time is a floor of 40.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from benches import wire
from benches.meter import Outcome
from benches.metrics import samples, samples_client, samples_grpc
from benches.metrics.samples_client import MANY, ONE, calls
from benches.servers import Server, Spec

__all__ = ("ROWS", "SCENARIOS", "Lane", "Row", "Scenario")

Sampler = Callable[[Server], Awaitable[Outcome]]
Prepare = Callable[[Server], Awaitable[None]]


@dataclass(frozen=True)
class Lane:
    """One contestant of a scenario: a server, and how it is driven."""

    name: str
    spec: Spec
    sample: Sampler
    is_quick: bool = True
    # A side that takes many seconds per sample is sampled once, not twice per round.
    is_once: bool = False


@dataclass(frozen=True)
class Scenario:
    """Lanes sampled in turn, round by round."""

    name: str
    lanes: tuple[Lane, ...]
    prepare: Prepare = samples.warm
    is_quick: bool = False
    # A fresh server per sample, for what can be measured once per process only.
    is_fresh: bool = False
    min_rounds: int = 1
    max_rounds: int = 100


@dataclass(frozen=True)
class Row:
    """One line of the result.

    With `theirs`, the verdict is on the ratio; without, `at_most` bounds the value itself.
    `limit` names a lane that shows how far one could get, `of_limit` the share of it we want, and
    `is_share_floor` whether less than that is a failure.
    """

    key: str
    title: str
    scenario: str
    value: str
    unit: str
    ours: str
    theirs: str | None = None
    is_lower_better: bool = False
    floor: float | None = None
    goal: float | None = None
    limit: str | None = None
    of_limit: float | None = None
    is_share_floor: bool = False
    at_most: float | None = None
    is_quick: bool = False


# Lane names, which are also the columns of the detailed output.
OURS, OURS_MEMORY = "dragoman", "dragoman memory"
SDK, SDK_SQLITE = "a2a-sdk", "a2a-sdk sqlite"
BARE, BARE_SQLITE = "bare", "bare sqlite"
OURS_REST = "dragoman HTTP+JSON"
OURS_0_3, OURS_0_3_REST, OURS_0_1 = "dragoman 0.3", "dragoman 0.3 HTTP+JSON", "dragoman 0.1"
OURS_GRPC, OURS_0_3_GRPC = "dragoman gRPC", "dragoman 0.3 gRPC"
SDK_GRPC, BARE_GRPC = "a2a-sdk gRPC", "bare gRPC"
OUR_CALLER, SDK_CALLER = "dragoman client", "a2a-sdk client"

_SUBJECT = Spec("subject", "sqlite")
_SUBJECT_MEMORY = Spec("subject", "memory")
_SUBJECT_STORED = Spec("subject", "sqlite", samples.STORED_TASKS)
_SDK = Spec("sdk", "memory")
_SDK_SQLITE = Spec("sdk", "sqlite")
_SDK_STORED = Spec("sdk", "memory", samples.STORED_TASKS)
_BARE = Spec("bare")
_BARE_SQLITE = Spec("bare", "sqlite")
_SDK_GRPC = Spec("sdk", is_grpc=True)
_BARE_GRPC = Spec("bare", is_grpc=True)


def _sides(sample: Sampler) -> tuple[Lane, ...]:
    """Ours on SQLite, the SDK in memory, and bare ASGI."""
    return Lane(OURS, _SUBJECT, sample), Lane(SDK, _SDK, sample), Lane(BARE, _BARE, sample)


def _callers(name: str, binding: str, concurrency: int, *, is_quick: bool = False) -> Scenario:
    """Our client and the SDK's, calling one server of ours."""
    return Scenario(
        name,
        (
            Lane(OUR_CALLER, _SUBJECT_MEMORY, calls("subject", binding, concurrency)),
            Lane(SDK_CALLER, _SUBJECT_MEMORY, calls("sdk", binding, concurrency)),
        ),
        prepare=samples_client.prepare,
        is_quick=is_quick,
    )


def _caller_row(
    name: str,
    title: str,
    *,
    value: str = "per_second",
    unit: str = "calls/s",
    floor: float | None = 3,
    is_quick: bool = False,
) -> Row:
    return Row(
        name,
        title,
        name,
        value,
        unit,
        OUR_CALLER,
        SDK_CALLER,
        floor=floor,
        goal=floor and floor * 2,
        is_quick=is_quick,
    )


SCENARIOS: Final = (
    Scenario(
        "send",
        (
            Lane(OURS, _SUBJECT, samples.send_many),
            Lane(SDK, _SDK, samples.send_many),
            Lane(BARE_SQLITE, _BARE_SQLITE, samples.send_many),
            Lane(BARE, _BARE, samples.send_many, is_quick=False),
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples.send_many, is_quick=False),
            Lane(SDK_SQLITE, _SDK_SQLITE, samples.send_many, is_quick=False),
        ),
        is_quick=True,
    ),
    # One server in all its languages. The floors are close: many rounds, and nobody in between.
    Scenario(
        "languages",
        (
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples.sends(wire.echo_jsonrpc)),
            Lane(OURS_REST, _SUBJECT_MEMORY, samples.sends(wire.echo_rest)),
            Lane(OURS_0_3, _SUBJECT_MEMORY, samples.sends(wire.echo_v0_3)),
            Lane(OURS_0_3_REST, _SUBJECT_MEMORY, samples.sends(wire.echo_v0_3_rest)),
            Lane(OURS_0_1, _SUBJECT_MEMORY, samples.sends(wire.echo_v0_1)),
        ),
        min_rounds=20,
    ),
    Scenario(
        "grpc",
        (
            Lane(OURS_GRPC, _SUBJECT_MEMORY, samples_grpc.send_v1_0),
            Lane(OURS_0_3_GRPC, _SUBJECT_MEMORY, samples_grpc.send_v0_3),
            Lane(BARE_GRPC, _BARE_GRPC, samples_grpc.send_v1_0),
            Lane(SDK_GRPC, _SDK_GRPC, samples_grpc.send_v1_0),
        ),
        prepare=samples_grpc.warm,
    ),
    Scenario(
        "send-one",
        (
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples.send_one),
            Lane(SDK, _SDK, samples.send_one),
            Lane(BARE, _BARE, samples.send_one),
        ),
    ),
    Scenario("get", _sides(samples.get), is_quick=True),
    Scenario(
        "stream",
        (
            *_sides(samples.stream),
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples.stream, is_quick=False),
        ),
        is_quick=True,
    ),
    Scenario("paced", _sides(samples.paced)),
    Scenario("fan-out", _sides(samples.fan_out)),
    Scenario(
        "chunks",
        (
            Lane(OURS, _SUBJECT, samples.chunks),
            Lane(SDK, _SDK, samples.chunks, is_once=True),
            Lane(BARE, _BARE, samples.chunks),
        ),
        is_quick=True,
    ),
    Scenario(
        "list",
        (
            Lane(OURS, _SUBJECT_STORED, samples.list_first),
            Lane(SDK, _SDK_STORED, samples.list_first),
        ),
        prepare=samples.fill,
        is_quick=True,
    ),
    Scenario(
        "list-status",
        (
            Lane(OURS, _SUBJECT_STORED, samples.list_status),
            Lane(SDK, _SDK_STORED, samples.list_status),
        ),
        prepare=samples.fill,
    ),
    Scenario(
        "list-deep",
        (
            Lane(OURS, _SUBJECT_STORED, samples.list_deep),
            Lane(SDK, _SDK_STORED, samples.list_deep),
        ),
        prepare=samples.fill,
        max_rounds=3,
    ),
    Scenario(
        "stored",
        (
            Lane(OURS, _SUBJECT_STORED, samples.send_many),
            Lane(SDK, _SDK_STORED, samples.send_many),
        ),
        prepare=samples.fill,
    ),
    Scenario("idle", _sides(samples.idle), is_fresh=True, max_rounds=3),
    Scenario(
        "start",
        (
            *_sides(samples.start_up),
            Lane(SDK_SQLITE, _SDK_SQLITE, samples.start_up),
        ),
        is_fresh=True,
    ),
    _callers("client", "JSONRPC", MANY, is_quick=True),
    _callers("client-one", "JSONRPC", ONE),
    _callers("client-rest", "HTTP+JSON", MANY),
    _callers("client-grpc", "GRPC", MANY),
)

ROWS: Final = (
    Row(
        "send",
        "SendMessage, durable vs SDK in memory",
        "send",
        "per_second",
        "req/s",
        OURS,
        SDK,
        floor=8,
        goal=18,
        limit=BARE_SQLITE,
        of_limit=0.50,
        is_quick=True,
    ),
    Row(
        "send-sqlite",
        "SendMessage, SQLite vs SDK SQLite",
        "send",
        "per_second",
        "req/s",
        OURS,
        SDK_SQLITE,
        floor=30,
        goal=70,
    ),
    Row(
        "send-memory",
        "SendMessage, memory store",
        "send",
        "per_second",
        "req/s",
        OURS_MEMORY,
        SDK,
        floor=15,
        goal=40,
        limit=BARE,
        of_limit=0.50,
    ),
    Row(
        "send-rest",
        "HTTP+JSON against our JSON-RPC",
        "languages",
        "per_cpu_second",
        "req/cpu s",
        OURS_REST,
        limit=OURS_MEMORY,
        of_limit=0.95,
        is_share_floor=True,
    ),
    Row(
        "send-0.3",
        "0.3 JSON-RPC against our 1.0",
        "languages",
        "per_cpu_second",
        "req/cpu s",
        OURS_0_3,
        limit=OURS_MEMORY,
        of_limit=0.85,
        is_share_floor=True,
    ),
    Row(
        "send-0.3-rest",
        "0.3 HTTP+JSON against our 1.0 JSON-RPC",
        "languages",
        "per_cpu_second",
        "req/cpu s",
        OURS_0_3_REST,
        limit=OURS_MEMORY,
        of_limit=0.85,
        is_share_floor=True,
    ),
    Row(
        "send-0.1",
        "0.1 against our 1.0",
        "languages",
        "per_cpu_second",
        "req/cpu s",
        OURS_0_1,
        limit=OURS_MEMORY,
        of_limit=0.85,
        is_share_floor=True,
    ),
    Row(
        "grpc",
        "gRPC SendMessage, memory store",
        "grpc",
        "per_second",
        "req/s",
        OURS_GRPC,
        SDK_GRPC,
        floor=5,
        goal=9,
        limit=BARE_GRPC,
        of_limit=0.70,
        is_share_floor=True,
    ),
    Row(
        "grpc-0.3",
        "0.3 gRPC against our 1.0 gRPC",
        "grpc",
        "per_cpu_second",
        "req/cpu s",
        OURS_0_3_GRPC,
        limit=OURS_GRPC,
        of_limit=0.85,
        is_share_floor=True,
    ),
    Row(
        "send-one",
        "SendMessage, 1 connection, p50",
        "send-one",
        "p50_ms",
        "ms",
        OURS_MEMORY,
        SDK,
        is_lower_better=True,
        floor=5,
        goal=8,
        limit=BARE,
        of_limit=1 / 1.8,
    ),
    Row(
        "get",
        "GetTask",
        "get",
        "per_second",
        "req/s",
        OURS,
        SDK,
        floor=4,
        goal=9,
        limit=BARE,
        of_limit=0.65,
        is_quick=True,
    ),
    Row(
        "stream",
        "Stream events, durable vs SDK in memory",
        "stream",
        "per_second",
        "events/s",
        OURS,
        SDK,
        floor=12,
        goal=30,
        limit=BARE,
        is_quick=True,
    ),
    Row(
        "stream-store",
        "Stream events, durable against our memory store",
        "stream",
        "per_second",
        "events/s",
        OURS,
        limit=OURS_MEMORY,
        of_limit=0.80,
    ),
    Row(
        "first-event",
        "Time to first event, 8 streams, p50",
        "stream",
        "first_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=15,
        goal=50,
        limit=BARE,
    ),
    Row(
        "paced",
        "Latency of paced events, p50",
        "paced",
        "p50_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=1.1,
        goal=1.5,
        limit=BARE,
    ),
    Row(
        "fan-out",
        "Fan-out, 200 readers x 100 events",
        "fan-out",
        "per_second",
        "deliveries/s",
        OURS,
        SDK,
        floor=10,
        goal=60,
        limit=BARE,
    ),
    Row(
        "chunks",
        "10,000 chunks on one artifact",
        "chunks",
        "seconds",
        "s",
        OURS,
        SDK,
        is_lower_better=True,
        floor=25,
        goal=60,
        limit=BARE,
        is_quick=True,
    ),
    Row(
        "chunks-even",
        "  last 1,000 chunks : first 1,000",
        "chunks",
        "last_over_first",
        "x",
        OURS,
        is_lower_better=True,
        at_most=1.2,
        is_quick=True,
    ),
    Row(
        "list",
        "ListTasks, 100,000 tasks, p50",
        "list",
        "p50_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=40,
        goal=500,
        is_quick=True,
    ),
    Row(
        "list-status",
        "ListTasks by status, 100,000 tasks, p50",
        "list-status",
        "p50_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=40,
        goal=500,
    ),
    Row(
        "list-deep",
        "ListTasks, page 21, 100,000 tasks, p50",
        "list-deep",
        "p50_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=40,
        goal=500,
    ),
    Row(
        "p99",
        "SendMessage p99, 100,000 tasks stored",
        "stored",
        "p99_ms",
        "ms",
        OURS,
        SDK,
        is_lower_better=True,
        floor=10,
        goal=25,
    ),
    Row(
        "p99-p50",
        "  p99 : own p50",
        "stored",
        "p99_over_p50",
        "x",
        OURS,
        is_lower_better=True,
        at_most=10,
    ),
    Row(
        "stored-memory",
        "Memory gained by 100,000 stored tasks",
        "stored",
        "fill_growth_mb",
        "MB",
        OURS,
        is_lower_better=True,
        at_most=20,
    ),
    Row(
        "idle",
        "Memory per idle stream",
        "idle",
        "kb_per_stream",
        "kB",
        OURS,
        SDK,
        is_lower_better=True,
        floor=4,
        goal=7,
        limit=BARE,
        of_limit=1 / 1.5,
    ),
    # Both sides durable: the SDK without a database is lighter than what we start with.
    Row(
        "start",
        "Process start to first answer, both on SQLite",
        "start",
        "start_seconds",
        "s",
        OURS,
        SDK_SQLITE,
        is_lower_better=True,
        floor=4,
        goal=5,
        limit=BARE,
    ),
    Row(
        "rss",
        "Memory after start, both on SQLite",
        "start",
        "rss_mb",
        "MB",
        OURS,
        SDK_SQLITE,
        is_lower_better=True,
        floor=2,
        goal=2.3,
        limit=BARE,
    ),
    Row(
        "start-light",
        "Process start, SDK without a database",
        "start",
        "start_seconds",
        "s",
        OURS,
        SDK,
        is_lower_better=True,
    ),
    Row(
        "rss-light",
        "Memory after start, SDK without a database",
        "start",
        "rss_mb",
        "MB",
        OURS,
        SDK,
        is_lower_better=True,
    ),
    _caller_row("client", "Client: sends, 16 at a time", is_quick=True),
    # One at a time a client mostly waits for the server, and both for the same one.
    _caller_row(
        "client-one",
        "Client: sends, one at a time",
        value="per_cpu_second",
        unit="calls/cpu s",
    ),
    _caller_row("client-rest", "Client: sends over HTTP+JSON, 16 at a time"),
    # Both stand on grpcio, which takes most of the time.
    _caller_row("client-grpc", "Client: sends over gRPC, 16 at a time", floor=None),
)
