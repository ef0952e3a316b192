"""Calls as gRPC would make them, with a context in the hands of the test."""

import asyncio
from collections.abc import Mapping
from typing import NoReturn

import pytest

from dragoman.auth.authenticator import Evidence
from dragoman.bindings.grpc.base import STATUS_DETAILS
from dragoman.errors import PermissionDeniedError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.server.door import Visitor
from dragoman.server.grpc_calls import MAX_STATUS_BYTES, Calls, Enter, Metadata
from dragoman.server.nursery import Nursery
from dragoman.server.peers import Peer, Peers
from dragoman.service.principal import Principal
from tests.unit.server.grpc_fakes import Answered, FakePerforms, ScriptedEvents, dialect

GONE_PEER = "unix:/gone"


class AbortedError(Exception):
    """How a call ended."""

    def __init__(self, code: object, details: str, trailing: Metadata) -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.trailing = dict(trailing)


class GoneError(Exception):
    """Nobody is there to be sent anything."""


class FakeContext:
    """A call: what came with it, and what has been sent."""

    def __init__(
        self, *metadata: tuple[str, str | bytes], peer: str = "ipv4:192.0.2.1:5000"
    ) -> None:
        self.metadata = metadata
        self.initial: dict[str, str | bytes] | None = None
        self.frames: list[bytes] = []
        self.is_stuck = False
        self.is_gone = False
        self._peer = peer

    def peer(self) -> str:
        return self._peer

    def auth_context(self) -> Mapping[str, list[bytes]]:
        return {}

    def invocation_metadata(self) -> Metadata:
        return self.metadata

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        self.initial = dict(metadata)

    async def write(self, message: bytes) -> None:
        if self.is_gone:
            raise GoneError
        if self.is_stuck:
            await asyncio.Event().wait()
        self.frames.append(message)

    async def abort(self, code: object, details: str, trailing_metadata: Metadata) -> NoReturn:
        raise AbortedError(code, details, trailing_metadata)


def calls(
    performs: FakePerforms,
    *,
    nursery: Nursery | None = None,
    enter: Enter | None = None,
    peers: Peers | None = None,
    stall_seconds: float = 60.0,
) -> Calls:
    return Calls(
        performs,
        enter=enter or performs.enter,
        peers=peers or Peers(),
        nursery=nursery or Nursery(),
        stall_seconds=stall_seconds,
        statuses={number: number for number in range(17)},
        gone=GoneError,
    )


async def send(performs: FakePerforms, context: FakeContext, params: bytes = b"hi") -> bytes:
    return await calls(performs).unary(dialect, Operation.SEND_MESSAGE)(params, context)


async def stream(performs: FakePerforms, context: FakeContext, stall_seconds: float = 60.0) -> None:
    handle = calls(performs, stall_seconds=stall_seconds).streaming(
        dialect, Operation.SEND_STREAMING_MESSAGE
    )
    await handle(b"hi", context)


def events(*bodies: bytes, first: int = 1) -> tuple[EventDocument, ...]:
    return tuple(EventDocument(number, body) for number, body in enumerate(bodies, first))


# --- one answer -------------------------------------------------------------------------------


async def test_a_call_is_performed_with_what_its_metadata_says() -> None:
    performs = FakePerforms()
    context = FakeContext(
        ("a2a-version", "1.0"),
        ("a2a-extensions", "urn:a"),
        ("a2a-extensions", "urn:b"),
        ("last-event-id", "7"),
        ("user-agent", "x"),
        ("own-bin", b"\xff"),
    )
    assert await send(performs, context) == b"echo hi"
    expected = {b"a2a-version": "1.0", b"a2a-extensions": "urn:a,urn:b", b"last-event-id": "7"}
    assert performs.asked == [(b"hi", expected)]
    assert performs.admitted == ["192.0.2.1"]
    assert performs.principals == [Principal(owner="192.0.2.1")]
    assert context.initial is None


@pytest.mark.requirement("R-T.ext-11")
async def test_activated_extensions_are_told_in_initial_metadata() -> None:
    performs = FakePerforms()
    performs.answer = Answered(b"body", headers=((b"a2a-extensions", b"urn:a"),))
    context = FakeContext()
    assert await send(performs, context) == b"body"
    assert context.initial == {"a2a-extensions": "urn:a"}


@pytest.mark.parametrize(
    ("params", "code", "details"),
    [(b"unknown", 5, "Task not found"), (b"broken", 13, "Internal error")],
)
async def test_a_problem_becomes_a_status_with_details(
    params: bytes, code: int, details: str
) -> None:
    with pytest.raises(AbortedError) as told:
        await send(FakePerforms(), FakeContext(), params)
    assert (told.value.code, told.value.details) == (code, details)
    assert told.value.trailing == {STATUS_DETAILS: b"details"}


async def test_a_status_too_long_for_clients_is_cut() -> None:
    async def refuse(visitor: Visitor) -> Principal:
        raise PermissionDeniedError("x" * MAX_STATUS_BYTES)

    handle = calls(FakePerforms(), enter=refuse).unary(dialect, Operation.SEND_MESSAGE)
    with pytest.raises(AbortedError) as told:
        await handle(b"", FakeContext())
    assert told.value.details == "x" * (MAX_STATUS_BYTES // 4)
    assert told.value.trailing == {}


async def test_who_is_not_admitted_reaches_nobody() -> None:
    async def refuse(visitor: Visitor) -> Principal:
        raise PermissionDeniedError

    performs = FakePerforms()
    handle = calls(performs, enter=refuse).unary(dialect, Operation.SEND_MESSAGE)
    with pytest.raises(AbortedError) as told:
        await handle(b"", FakeContext())
    assert told.value.code == 7
    assert performs.asked == []


async def test_a_caller_that_cannot_be_told_any_more_is_not_taken_for_a_local_one() -> None:
    performs = FakePerforms()
    with pytest.raises(AbortedError) as told:
        await send(performs, FakeContext(peer=GONE_PEER))
    assert told.value.code == 14
    assert (performs.admitted, performs.asked) == ([], [])


async def test_a_caller_behind_the_relay_is_told_by_the_path_of_the_relay() -> None:
    performs = FakePerforms()
    peers = Peers()
    peers.add("/relay/1", Peer("198.51.100.7"))
    handle = calls(performs, peers=peers).unary(dialect, Operation.SEND_MESSAGE)
    await handle(b"", FakeContext(peer="unix:/relay/1"))
    assert performs.admitted == ["198.51.100.7"]


# --- a caller that leaves ---------------------------------------------------------------------


async def test_an_operation_is_finished_although_its_caller_has_left() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    unread = ScriptedEvents(is_live=True)
    performs.answer = Answered(events=unread)
    call = asyncio.ensure_future(stream(performs, FakeContext()))
    await performs.called.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert performs.finished == 0
    performs.hold.set()
    # And what it would have followed is followed by nobody.
    await unread.closed.wait()
    assert performs.finished == 1


async def test_a_caller_that_leaves_in_the_moment_of_the_answer_leaves_no_follower() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    unread = ScriptedEvents(is_live=True)
    performs.answer = Answered(events=unread)
    call = asyncio.ensure_future(stream(performs, FakeContext()))
    await performs.called.wait()
    performs.hold.set()
    while not performs.finished:  # noqa: ASYNC110 - one pass of the loop at a time is the point
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await unread.closed.wait()


async def test_a_failure_that_nobody_waits_for_is_still_explained() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    call = asyncio.ensure_future(send(performs, FakeContext(), b"broken"))
    await performs.called.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    performs.hold.set()
    await performs.told.wait()
    assert isinstance(performs.explained[0], ValueError)


async def test_a_call_that_the_stop_cuts_off_is_told_to_come_back() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    nursery = Nursery()
    handle = calls(performs, nursery=nursery).unary(dialect, Operation.SEND_MESSAGE)
    call = asyncio.ensure_future(handle(b"", FakeContext()))
    await performs.called.wait()
    await nursery.close()
    with pytest.raises(AbortedError) as told:
        await call
    assert told.value.code == 14


# --- streams ----------------------------------------------------------------------------------


async def test_events_are_sent_in_order_and_the_stream_ends_with_them() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one", b"two"), (), events(b"three", first=3))
    performs.answer = Answered(events=shown)
    context = FakeContext()
    await stream(performs, context)
    assert context.frames == [b"one", b"two", b"three"]
    assert shown.closed.is_set()


async def test_initial_metadata_tells_the_number_of_the_first_frame_and_the_extensions() -> None:
    performs = FakePerforms()
    performs.answer = Answered(
        events=ScriptedEvents(events(b"five", first=5)), headers=((b"a2a-extensions", b"urn:a"),)
    )
    context = FakeContext()
    await stream(performs, context)
    assert context.initial == {"a2a-extensions": "urn:a", "last-event-id": "5"}


async def test_a_frame_without_a_place_in_a_log_has_no_number() -> None:
    performs = FakePerforms()
    performs.answer = Answered(events=ScriptedEvents(events(b"message", first=0)))
    context = FakeContext()
    await stream(performs, context)
    assert context.initial == {}


async def test_nothing_follows_the_frame_that_says_it_is_the_last() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one", b"final", b"more"), is_live=True)
    performs.answer = Answered(events=shown)
    context = FakeContext()
    await stream(performs, context)
    assert context.frames == [b"one", b"final"]
    assert shown.closed.is_set()


async def test_what_ends_a_stream_is_its_final_status() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one"), ends_with="secret")
    performs.answer = Answered(events=shown)
    context = FakeContext()
    with pytest.raises(AbortedError) as told:
        await stream(performs, context)
    assert (told.value.code, told.value.details) == (13, "Internal error")
    assert context.frames == [b"one"]
    assert shown.closed.is_set()


async def test_a_stream_that_cannot_begin_is_a_status() -> None:
    performs = FakePerforms()
    handle = calls(performs).streaming(dialect, Operation.SUBSCRIBE_TO_TASK)
    with pytest.raises(AbortedError) as told:
        await handle(b"unknown", FakeContext())
    assert told.value.code == 5


async def test_a_reader_that_takes_nothing_for_too_long_is_cut() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one"), is_live=True)
    performs.answer = Answered(events=shown)
    context = FakeContext()
    context.is_stuck = True
    with pytest.raises(AbortedError) as told:
        await stream(performs, context, stall_seconds=0.01)
    assert told.value.code == 14
    assert shown.closed.is_set()


async def test_a_reader_that_is_gone_is_left_alone() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one"), is_live=True)
    performs.answer = Answered(events=shown)
    context = FakeContext()
    context.is_gone = True
    with pytest.raises(asyncio.CancelledError):
        await stream(performs, context)
    assert shown.closed.is_set()
    assert performs.explained == []


async def test_a_call_shows_all_that_may_tell_who_calls() -> None:
    seen: list[Evidence] = []

    async def look(visitor: Visitor) -> Principal:
        seen.append(visitor.evidence())
        return Principal(owner="ada")

    performs, peers = FakePerforms(), Peers()
    pem = "-----BEGIN CERTIFICATE-----\nZGVy\n-----END CERTIFICATE-----\n"
    peers.add("/relay/1", Peer("198.51.100.7", pem))
    handle = calls(performs, enter=look, peers=peers).unary(dialect, Operation.SEND_MESSAGE)
    await handle(b"", FakeContext(("x-api-key", "k"), peer="unix:/relay/1"))
    assert seen == [Evidence(headers={b"x-api-key": "k"}, peer="198.51.100.7", certificate=b"der")]
    assert performs.principals == [Principal(owner="ada")]
