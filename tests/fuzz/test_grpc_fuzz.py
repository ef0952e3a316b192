"""Whatever comes over gRPC: never our own fault, never a hang, and the next caller is served.

What is sent is a message of any rpc of either service: random bytes, a valid message with bytes
changed, fields of any number and kind, or well-formed values that make no sense together.
Hypothesis prints what it found and the seed to try it again; ``make soak`` tries many more.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.test_wire_fuzz import check_that_it_works, edited, make_agent
from tests.scenarios.grpc_binding import V0_3_SERVICE, V1_0_SERVICE, Rpcs, aio
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.scenarios.grpc_binding import Metadata
    from tests.support.wire import Json

_ids = count(1)

TIMEOUT_SECONDS: Final = 5

FAIR: Final = frozenset(
    {
        "OK",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        # Whose metadata say that somebody else has sent them here is perhaps not on this machine.
        "PERMISSION_DENIED",
        # What 0.3 says of what we do not do, and gRPC of a message beyond the limit.
        "UNIMPLEMENTED",
        "RESOURCE_EXHAUSTED",
    }
)
"""The statuses that are the caller's own doing; a call that hangs is DEADLINE_EXCEEDED."""

STREAMING: Final = frozenset({"SendStreamingMessage", "SubscribeToTask", "TaskSubscription"})

# --- valid requests -----------------------------------------------------------------------------

_HOOK: Final[Json] = {
    "taskId": "t-1",
    "id": "p-1",
    "url": "https://client.example/hook",
    "token": "t",
    "authentication": {"scheme": "Bearer", "credentials": "c"},
}
_SEND: Final[Json] = {
    "tenant": "acme",
    "message": {
        "messageId": "m-1",
        "contextId": "c-1",
        "role": "ROLE_USER",
        "parts": [
            {"text": "hi", "metadata": {"a": [1, None]}},
            {"raw": "AQI=", "filename": "a.bin"},
            {"url": "https://client.example/f", "mediaType": "image/png"},
            {"data": {"k": [1, 2.5, None, {"deep": []}]}},
        ],
        "metadata": {"skillId": "mirror"},
        "extensions": ["https://ext.example/v1"],
        "referenceTaskIds": ["t-1"],
    },
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "historyLength": 3,
        "returnImmediately": True,
    },
    "metadata": {"trace": "x"},
}
_LIST: Final[Json] = {
    "contextId": "c-1",
    "status": "TASK_STATE_COMPLETED",
    "pageSize": 5,
    "historyLength": 1,
    "includeArtifacts": True,
}
_OLD_HOOK: Final[Json] = {
    "name": "tasks/t-1/pushNotificationConfigs/p-1",
    "pushNotificationConfig": {
        "id": "p-1",
        "url": "https://client.example/hook",
        "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"},
    },
}
_OLD_SEND: Final[Json] = {
    "message": {
        "messageId": "m-1",
        "contextId": "c-1",
        "role": "ROLE_USER",
        "content": [
            {"text": "hi", "metadata": {"a": 1.0}},
            {"file": {"fileWithBytes": "QVFJPQ==", "mimeType": "image/png", "name": "a.png"}},
            {"file": {"fileWithUri": "https://client.example/f"}},
            {"data": {"data": {"k": [1, 2.5, None]}}},
        ],
        "metadata": {"skillId": "mirror"},
        "extensions": ["https://ext.example/v1"],
    },
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "historyLength": 3,
        "blocking": True,
    },
    "metadata": {"trace": "x"},
}
_TASK: Final[Json] = {"name": "tasks/t-1"}
_CONFIG: Final[Json] = {"name": "tasks/t-1/pushNotificationConfigs/p-1"}


class Rpc(NamedTuple):
    """A method, and a request that it takes."""

    service: str
    name: str
    valid: Json


RPCS: Final = [
    Rpc(V1_0_SERVICE, name, valid)
    for name, valid in {
        "SendMessage": _SEND,
        "SendStreamingMessage": _SEND,
        "GetTask": {"id": "t-1", "historyLength": 1, "tenant": "acme"},
        "ListTasks": {**_LIST, "statusTimestampAfter": "2026-01-31T12:00:00Z"},
        "CancelTask": {"id": "t-1", "metadata": {"why": "x"}},
        "SubscribeToTask": {"id": "t-1"},
        "CreateTaskPushNotificationConfig": _HOOK,
        "GetTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
        "ListTaskPushNotificationConfigs": {"taskId": "t-1", "pageSize": 1},
        "DeleteTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
        "GetExtendedAgentCard": {"tenant": "acme"},
    }.items()
] + [
    Rpc(V0_3_SERVICE, name, valid)
    for name, valid in {
        "SendMessage": _OLD_SEND,
        "SendStreamingMessage": _OLD_SEND,
        "GetTask": {**_TASK, "historyLength": 1},
        "ListTasks": {**_LIST, "lastUpdatedTime": "2026-01-31T12:00:00Z"},
        "CancelTask": _TASK,
        "TaskSubscription": _TASK,
        "CreateTaskPushNotificationConfig": {
            "parent": "tasks/t-1",
            "configId": "p-1",
            "config": _OLD_HOOK,
        },
        "GetTaskPushNotificationConfig": _CONFIG,
        "ListTaskPushNotificationConfig": {"parent": "tasks/t-1", "pageSize": 1},
        "DeleteTaskPushNotificationConfig": _CONFIG,
        "GetAgentCard": {},
        # The short names of 0.2.
        "CreateTaskPushNotification": {"parent": "tasks/t-1", "config": _OLD_HOOK},
        "GetTaskPushNotification": {"name": "tasks/t-1/pushNotifications/p-1"},
        "ListTaskPushNotification": {"parent": "tasks/t-1"},
    }.items()
]
rpcs = st.sampled_from(RPCS)


# --- the target ---------------------------------------------------------------------------------


class Target:
    """An agent that ends every task at once, and a client of each of its services."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.clients = {name: Rpcs(served.url, name) for name in (V1_0_SERVICE, V0_3_SERVICE)}

    async def message(self, rpc: Rpc) -> Any:
        """Return a new request of a method, empty."""
        request, _ = await self.clients[rpc.service].messages(rpc.name)
        return request()

    async def valid(self, rpc: Rpc) -> bytes:
        """Return a request that a method takes."""
        return json_format.ParseDict(rpc.valid, await self.message(rpc)).SerializeToString()

    async def attack(self, rpc: Rpc, data: bytes, metadata: Metadata = ()) -> str:
        """Send a message and return the name of a status that is the caller's own doing."""
        channel = self.clients[rpc.service].channel
        kind = channel.unary_stream if rpc.name in STREAMING else channel.unary_unary
        method = kind(f"/{rpc.service}/{rpc.name}")
        call = method(data, metadata=tuple(metadata), timeout=TIMEOUT_SECONDS)
        with suppress(aio.AioRpcError):
            if rpc.name in STREAMING:
                assert [frame async for frame in call]
            else:
                await call
        status = await call.code()
        assert status.name in FAIR, (status, await call.details())
        return status.name


@pytest.fixture(scope="module")
async def target() -> AsyncIterator[Target]:
    """The target; in the end it must have logged no error, and must still do its work."""
    complaints: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: complaints.append(record.getMessage())
    loggers = [logging.getLogger(name) for name in ("dragoman", "uvicorn.error", "asyncio", "grpc")]
    for logger in loggers:
        logger.addHandler(handler)
    async with serving(make_agent(), max_body_bytes=1_000_000) as served:
        target = Target(served)
        yield target
        await check_that_it_works(served)
        for client in target.clients.values():
            await client.channel.close()
    for logger in loggers:
        logger.removeHandler(handler)
    assert complaints == []


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: f"{rpc.service}/{rpc.name}")
async def test_what_the_others_start_from_is_valid(target: Target, rpc: Rpc) -> None:
    # There is no such task, and there are no webhooks; else nothing is wrong.
    status = await target.attack(rpc, await target.valid(rpc))
    assert status in {"OK", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED"}


# --- bytes --------------------------------------------------------------------------------------

# Tags, lengths and numbers that have hurt readers of protobuf.
TOKENS: Final = (
    b"\x00", b"\x02", b"\x07", b"\x0b\x0b\x0b", b"\x0c", b"\x0b\x0c", b"\x80" * 12, b"\xff" * 9,
    b"\xff" * 10 + b"\x01", b"\x0a\xff\xff\xff\xff\x07", b"\x0a\xff\xff\xff\xff\x0f",
    b"\x0a\x80\x80\x80\x80\x00", b"\x0a\x02\xc0\x80", b"\x0a\x03\xed\xa0\x80", b"\x0a\x01\x00",
    b"\x09" + struct.pack("<d", float("nan")), b"\x09" + struct.pack("<d", float("-inf")),
    b"\x12\x00", b"\x12\x02\x12\x00", b"\x2a\x00", b"\x32\x02\x0a\x00", b"\x32\x04\x0a\x02\x12\x00",
    b"\x20\x07", b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x18\x80\x80\x80\x80\x08",
    b"\x0a" + b"\xa0\x8d\x06" + b"x" * 100_000, b"\x0b" * 200, b"\xfa\xff\xff\xff\x0f\x00",
)  # fmt: skip

edits = st.tuples(
    st.floats(0, 1),
    st.sampled_from(["replace", "insert", "delete", "truncate", "repeat", "token"]),
    st.binary(min_size=1, max_size=4),
    st.sampled_from(TOKENS),
)


@given(rpcs, st.binary(max_size=200))
async def test_bytes_of_any_kind(target: Target, rpc: Rpc, data: bytes) -> None:
    await target.attack(rpc, data)


@given(rpcs, st.lists(edits, min_size=1, max_size=4))
async def test_bytes_changed(
    target: Target, rpc: Rpc, changes: list[tuple[float, str, bytes, bytes]]
) -> None:
    data = await target.valid(rpc)
    for change in changes:
        data = edited(data, change)
    await target.attack(rpc, data)


@given(rpcs, rpcs)
async def test_the_message_of_another_rpc(target: Target, rpc: Rpc, other: Rpc) -> None:
    await target.attack(rpc, await target.valid(other))
    # Two messages in a row are one, in which the later fields count.
    await target.attack(rpc, await target.valid(rpc) + await target.valid(other))


# --- fields -------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    """Write a number as protobuf does."""
    number &= 2**64 - 1
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def field(number: int, kind: int, content: bytes) -> bytes:
    """Write a field; what has a length (kind 2) gets it."""
    length = varint(len(content)) if kind == 2 else b""
    return varint(number << 3 | kind) + length + content


fields = st.recursive(
    st.one_of(
        st.builds(field, st.integers(1, 9), st.just(0), st.integers(0, 2**64 - 1).map(varint)),
        st.builds(field, st.integers(1, 9), st.just(1), st.binary(min_size=8, max_size=8)),
        st.builds(field, st.integers(1, 9), st.just(5), st.binary(min_size=4, max_size=4)),
        st.builds(field, st.integers(1, 9), st.just(2), st.text(max_size=8).map(str.encode)),
    ),
    lambda inner: st.builds(
        field, st.integers(1, 9), st.just(2), st.lists(inner, max_size=4).map(b"".join)
    ),
    max_leaves=12,
)


@given(rpcs, st.lists(fields, max_size=6))
async def test_fields_of_any_number_and_kind(target: Target, rpc: Rpc, some: list[bytes]) -> None:
    await target.attack(rpc, b"".join(some))


@given(rpcs, st.lists(fields, min_size=1, max_size=3))
async def test_fields_beside_those_of_a_valid_message(
    target: Target, rpc: Rpc, some: list[bytes]
) -> None:
    await target.attack(rpc, await target.valid(rpc) + b"".join(some))


# --- values -------------------------------------------------------------------------------------

TEXTS: Final = (
    "", "mirror", "acme", "c-1", "tasks/x", "tasks/a/pushNotificationConfigs/b", "\x00", "text/",
    "image/png", "text/plain", "http://[", "x" * 5000, "🦜", "skillId", "value", "a2a.v0.kind",
    "a2a.v0.fileReference", "a2a.v1", "data_part_compat", "mimeType", "QVFJPQ==", "9" * 30,
)  # fmt: skip
SCALARS: Final[dict[int, tuple[Any, ...]]] = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: (
        b"",
        b"\x00\xff",
        b"QVFJPQ==",
        b"AQI=",
        b"A" * 64,
        b"\xef\xbb\xbf",
    ),
    FieldDescriptor.TYPE_BOOL: (True, False),
    FieldDescriptor.TYPE_DOUBLE: (
        *(0.0, -0.0, 1.5, 2.0**53, -(2.0**63), 1e308, 5e-324),
        *(float("nan"), float("inf"), float("-inf")),
    ),
    FieldDescriptor.TYPE_INT32: (0, 1, -1, 5, 100, 101, 999_999_999, 2**31 - 1, -(2**31)),
    FieldDescriptor.TYPE_INT64: (
        *(0, 1, -1, 1_800_000_000, 253_402_300_799, 253_402_300_800),
        *(-62_135_596_800, -62_135_596_801, 2**63 - 1, -(2**63)),
    ),
    FieldDescriptor.TYPE_ENUM: (0, 1, 2, 3, 5, 8, 9, -1, 2**31 - 1),
}

choices = st.lists(st.integers(0, 500), min_size=5, max_size=80)
"""What to put where, in the order of the questions; what is not answered is left out."""


def fill(message: Any, answers: Iterator[int]) -> None:
    """Give values to some fields of a message, and to those of the messages in it."""
    for member in message.DESCRIPTOR.fields:
        # No answer means no value, so what may hold itself comes to an end.
        if next(answers, 0) % 3 == 0:
            continue
        value = getattr(message, member.name)
        if member.message_type is None:
            pool = SCALARS[member.type]
            chosen = pool[next(answers, 0) % len(pool)]
            if member.is_repeated:
                value.append(chosen)
            else:
                setattr(message, member.name, chosen)
        elif member.message_type.GetOptions().map_entry:
            fill_map(value, answers)
        elif member.is_repeated:
            fill(value.add(), answers)
        else:
            value.SetInParent()
            fill(value, answers)


def fill_map(entries: Any, answers: Iterator[int]) -> None:
    """Give a map an entry: what the services have are maps to messages."""
    fill(entries[TEXTS[next(answers, 0) % len(TEXTS)]], answers)


@given(rpcs, choices)
async def test_values_that_make_no_sense_together(
    target: Target, rpc: Rpc, answers: list[int]
) -> None:
    message = await target.message(rpc)
    fill(message, iter(answers))
    await target.attack(rpc, message.SerializeToString())


@given(rpcs, choices)
async def test_values_beside_those_of_a_valid_message(
    target: Target, rpc: Rpc, answers: list[int]
) -> None:
    message = await target.message(rpc)
    fill(message, iter(answers))
    await target.attack(rpc, await target.valid(rpc) + message.SerializeToString())


@given(choices)
async def test_what_is_taken_can_be_told_by_both_services(
    target: Target, answers: list[int]
) -> None:
    for rpc, said, contents in (
        (RPCS[0], "message", "parts"),
        (RPCS[11], "request", "content"),
    ):
        params: Any = await target.message(rpc)
        message = getattr(params, said)
        message.message_id = message.context_id = f"told-{next(_ids)}"
        message.role = 1
        message.metadata.update({"skillId": "mirror"})
        fill(getattr(message, contents).add(), iter(answers))
        if await target.attack(rpc, params.SerializeToString()) != "OK":
            continue
        query = {"contextId": message.context_id, "includeArtifacts": True, "historyLength": 9}
        for client in target.clients.values():
            page, _ = await client.unary("ListTasks", query)
            assert [len(task["artifacts"][0]["parts"]) for task in page["tasks"]] == [1]


# --- sizes and depths ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1_000, 900_000, 999_000, 1_100_000])
@pytest.mark.parametrize("rpc", RPCS[:4] + RPCS[11:14], ids=lambda rpc: rpc.name)
async def test_fields_of_enormous_length(target: Target, rpc: Rpc, size: int) -> None:
    for number in range(1, 3):
        await target.attack(rpc, field(number, 2, b"x" * size))


@pytest.mark.parametrize("depth", [10, 30, 31, 32, 33, 44, 45, 46, 47, 48, 49, 50, 99, 500, 5000])
@pytest.mark.parametrize("rpc", [RPCS[0], RPCS[1], RPCS[11]], ids=lambda rpc: rpc.service)
async def test_nesting_up_to_and_beyond_the_limit(target: Target, rpc: Rpc, depth: int) -> None:
    # A Value (6) that holds a list (1) of one Value, and so on.
    deep = b""
    for _ in range(depth):
        deep = field(6, 2, field(1, 2, deep))
    if rpc.service == V1_0_SERVICE:
        part = field(4, 2, deep)
    else:
        part = field(3, 2, field(1, 2, field(1, 2, field(1, 2, b"k") + field(2, 2, deep))))
    said = field(1, 2, b"m-%d" % depth) + field(4, 0, b"\x01") + field(5, 2, part)
    number = 2 if rpc.service == V1_0_SERVICE else 1
    await target.attack(rpc, field(number, 2, said))


# --- metadata -----------------------------------------------------------------------------------

ascii_texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
metadata_entries = st.one_of(
    st.tuples(
        st.sampled_from(
            ["a2a-version", "a2a-extensions", "x-a2a-extensions", "last-event-id", "forwarded",
             "x-forwarded-for", "x-forwarded-host", "host", "origin", "accept", "content-length"]
        ),
        st.one_of(
            ascii_texts,
            st.sampled_from(["1.0", "0.3", "9" * 50, "-1", ",", ";", "[", "for=", "x" * 4000]),
        ),
    ),
    st.tuples(st.sampled_from(["a2a-version-bin", "x-bin"]), st.binary(max_size=40)),
)  # fmt: skip


@given(rpcs, st.lists(metadata_entries, min_size=1, max_size=4))
async def test_odd_metadata(
    target: Target, rpc: Rpc, entries: list[tuple[str, str | bytes]]
) -> None:
    await target.attack(rpc, await target.valid(rpc), entries)


# --- many at once -------------------------------------------------------------------------------


async def test_a_crowd_of_broken_calls_at_once(target: Target) -> None:
    calls = [
        target.attack(rpc, data[:cut])
        for rpc in RPCS
        for data in [await target.valid(rpc)]
        for cut in range(0, len(data), 9)
    ]
    await asyncio.gather(*calls)


async def test_callers_who_leave_in_the_middle(target: Target) -> None:
    for rpc in RPCS:
        channel = target.clients[rpc.service].channel
        kind = channel.unary_stream if rpc.name in STREAMING else channel.unary_unary
        call = kind(f"/{rpc.service}/{rpc.name}")(await target.valid(rpc), timeout=TIMEOUT_SECONDS)
        await asyncio.sleep(0)
        call.cancel()
    await check_that_it_works(target.served)
