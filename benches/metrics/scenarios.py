"""Scenarios, as data: who is sampled how."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from benches import wire
from benches.meter import Outcome
from benches.metrics import (
    samples,
    samples_client,
    samples_grpc,
    samples_guard,
    samples_push,
    samples_replicas,
    samples_signed,
    samples_traced,
)
from benches.metrics.samples_client import MANY, ONE, calls
from benches.servers import Server, Spec

__all__ = (
    "BARE",
    "BARE_GRPC",
    "BARE_SQLITE",
    "OURS",
    "OURS_0_1",
    "OURS_0_3",
    "OURS_0_3_GRPC",
    "OURS_0_3_REST",
    "OURS_ELSEWHERE",
    "OURS_GRPC",
    "OURS_HERE",
    "OURS_KEYED",
    "OURS_MEASURED",
    "OURS_MEMORY",
    "OURS_POSTGRES",
    "OURS_REPLICAS",
    "OURS_REST",
    "OURS_SAMPLED",
    "OURS_SIGNED",
    "OURS_TOKENED",
    "OURS_TOLD_OF",
    "OURS_TRACED",
    "OURS_TRACED_SDK",
    "OURS_TWO_SPANS",
    "OURS_VERIFYING",
    "OUR_CALLER",
    "SCENARIOS",
    "SDK",
    "SDK_CALLER",
    "SDK_ELSEWHERE",
    "SDK_GRPC",
    "SDK_POSTGRES",
    "SDK_SQLITE",
    "Lane",
    "Scenario",
)

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
    # Or fresh ones after so many rounds: of two processes of the same kind, one may lie in memory
    # more luckily than the other, and be faster by a tenth as long as it lives.
    renewed_every: int = 0
    min_rounds: int = 1
    max_rounds: int = 100


# Lane names, which are also the columns of the detailed output.
OURS, OURS_MEMORY = "dragoman", "dragoman memory"
SDK, SDK_SQLITE = "a2a-sdk", "a2a-sdk sqlite"
BARE, BARE_SQLITE = "bare", "bare sqlite"
OURS_REST = "dragoman HTTP+JSON"
OURS_SIGNED = "dragoman signed"
OURS_0_3, OURS_0_3_REST, OURS_0_1 = "dragoman 0.3", "dragoman 0.3 HTTP+JSON", "dragoman 0.1"
OURS_KEYED, OURS_TOKENED = "dragoman API key", "dragoman JWT"
OURS_VERIFYING = "dragoman new JWT"
OURS_TRACED, OURS_TRACED_SDK = "dragoman traced", "dragoman traced by SDK"
OURS_SAMPLED = "dragoman sampled"
OURS_MEASURED, OURS_TWO_SPANS = "dragoman measured", "dragoman two spans"
OURS_GRPC, OURS_0_3_GRPC = "dragoman gRPC", "dragoman 0.3 gRPC"
SDK_GRPC, BARE_GRPC = "a2a-sdk gRPC", "bare gRPC"
OURS_TOLD_OF = "dragoman webhooks"
OURS_POSTGRES, SDK_POSTGRES = "dragoman postgres", "a2a-sdk postgres"
OURS_REPLICAS = "dragoman 2 replicas"
OURS_HERE, OURS_ELSEWHERE = "dragoman same replica", "dragoman other replica"
SDK_ELSEWHERE = "a2a-sdk other replica"
OUR_CALLER, SDK_CALLER = "dragoman client", "a2a-sdk client"

_SUBJECT = Spec("subject", "sqlite")
_SUBJECT_MEMORY = Spec("subject", "memory")
_SUBJECT_KEYED = Spec("subject", "memory", guard="keyed")
_SUBJECT_TOKENED = Spec("subject", "memory", guard="tokened")
_SUBJECT_SIGNED = Spec("subject", "memory", guard="signed")
_SUBJECT_TRACED = Spec("subject", "memory", is_collected=True)
_SUBJECT_TRACED_SDK = Spec("subject", "memory", telemetry="traced_sdk")
_SUBJECT_SAMPLED = Spec("subject", "memory", telemetry="sampled")
_SUBJECT_MEASURED = Spec("subject", "memory", telemetry="measured")
_SUBJECT_TWO_SPANS = Spec("subject", "memory", telemetry="two_spans")
_SUBJECT_STORED = Spec("subject", "sqlite", samples.STORED_TASKS)
_SUBJECT_PUSHING = Spec("subject", "sqlite", options=samples_push.OPTIONS)
_SUBJECT_POSTGRES = Spec("subject", "postgres")
_SUBJECT_REPLICAS = Spec("subject", "postgres", replicas=2)
_SPREAD = Spec("subject", "postgres", is_spread=True)
_SPREAD_REPLICAS = Spec("subject", "postgres", replicas=2, is_spread=True)
_SDK_POSTGRES = Spec("sdk", "postgres")
_SDK_REPLICAS = Spec("sdk", "postgres", replicas=2)
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
    Scenario(
        "postgres",
        (
            Lane(OURS_POSTGRES, _SUBJECT_POSTGRES, samples.send_long),
            Lane(SDK_POSTGRES, _SDK_POSTGRES, samples.send_long),
        ),
        max_rounds=4,
    ),
    # Two are sent twice as much at once as one.
    Scenario(
        "replicas",
        (
            Lane(OURS_POSTGRES, _SPREAD, samples_replicas.send_spread),
            Lane(OURS_REPLICAS, _SPREAD_REPLICAS, samples_replicas.send_spread),
        ),
        prepare=samples_replicas.warm,
        min_rounds=15,
        renewed_every=3,
    ),
    Scenario(
        "elsewhere",
        (
            Lane(OURS_HERE, _SUBJECT_REPLICAS, samples_replicas.here),
            Lane(OURS_ELSEWHERE, _SUBJECT_REPLICAS, samples_replicas.elsewhere),
            Lane(SDK_ELSEWHERE, _SDK_REPLICAS, samples_replicas.elsewhere),
        ),
        prepare=samples_replicas.warm,
        max_rounds=3,
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
    # The same server with nobody at the door, and with a guard of each kind.
    Scenario(
        "guard",
        (
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples_guard.send),
            Lane(OURS_KEYED, _SUBJECT_KEYED, samples_guard.send),
            Lane(OURS_TOKENED, _SUBJECT_TOKENED, samples_guard.send),
        ),
        prepare=samples_guard.warm,
        min_rounds=20,
    ),
    Scenario(
        "traced",
        (
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples.sends(wire.echo_jsonrpc)),
            Lane(OURS_TRACED, _SUBJECT_TRACED, samples_traced.send),
            Lane(OURS_TRACED_SDK, _SUBJECT_TRACED_SDK, samples.sends(wire.echo_jsonrpc)),
            Lane(OURS_SAMPLED, _SUBJECT_SAMPLED, samples.sends(wire.echo_jsonrpc)),
            Lane(OURS_MEASURED, _SUBJECT_MEASURED, samples.sends(wire.echo_jsonrpc)),
            Lane(OURS_TWO_SPANS, _SUBJECT_TWO_SPANS, samples.sends(wire.echo_jsonrpc)),
        ),
        min_rounds=20,
    ),
    Scenario(
        "verify",
        (Lane(OURS_VERIFYING, _SUBJECT_TOKENED, samples_guard.verify),),
        prepare=samples_guard.warm,
    ),
    Scenario(
        "signed",
        (
            Lane(OURS_MEMORY, _SUBJECT_MEMORY, samples_signed.send),
            Lane(OURS_SIGNED, _SUBJECT_SIGNED, samples_signed.send),
        ),
        prepare=samples_signed.prepare,
        min_rounds=10,
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
    # One server: a task with dead webhooks, and one without any.
    Scenario(
        "webhooks",
        (
            Lane(OURS_TOLD_OF, _SUBJECT_PUSHING, samples_push.streams_told_of(10)),
            Lane(OURS, _SUBJECT_PUSHING, samples_push.streams_told_of(0)),
        ),
        min_rounds=5,
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
