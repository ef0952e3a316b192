"""Calls with a context in the hands of the test."""

import asyncio
from collections.abc import Mapping

import pytest

from dragoman.auth.incoming.authenticator import Evidence
from dragoman.bindings.grpc.base import STATUS_DETAILS
from dragoman.bindings.grpc.framing import GrpcFailedError, Metadata
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.net.peer import Peer
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.server.grpc.calls import MAX_STATUS_BYTES, Calls, Enter, UnaryRpc
from dragoman.service.principal import Principal
from tests.support.server.grpc_fakes import Answered, FakePerforms, ScriptedEvents, dialect


class FakeContext:
    """A call: what came with it, and what has been sent."""

    def __init__(
        self,
        headers: Mapping[bytes, str] | None = None,
        fields: tuple[tuple[bytes, bytes], ...] = (),
        peer: Peer | None = None,
    ) -> None:
        self.headers: Mapping[bytes, str] = headers or {}
        self.fields = fields
        self.peer = peer or Peer("192.0.2.1")
        self.incoming: IncomingRequest | None = None
        self.initial: dict[str, str | bytes] | None = None
        self.frames: list[bytes] = []
        self.is_full = False
        self.is_gone = False

    def allow_cancel(self) -> None:
        if self.is_gone:
            raise asyncio.CancelledError

    def send_initial_metadata(self, metadata: Metadata) -> None:
        self.initial = dict(metadata)

    def write(self, message: bytes) -> None:
        self.frames.append(message)

    async def drain(self) -> None:
        await asyncio.Event().wait()


def handler(
    performs: FakePerforms,
    operation: Operation = Operation.SEND_MESSAGE,
    *,
    enter: Enter | None = None,
    stall_seconds: float = 60.0,
) -> UnaryRpc:
    calls = Calls(performs, enter=enter or performs.enter, stall_seconds=stall_seconds)
    unary = calls.rpc(dialect, operation).unary
    assert unary is not None
    return unary


async def send(performs: FakePerforms, context: FakeContext, params: bytes = b"hi") -> bytes | None:
    return await handler(performs)(params, context)


async def stream(performs: FakePerforms, context: FakeContext, stall_seconds: float = 60.0) -> None:
    handle = handler(performs, Operation.SEND_STREAMING_MESSAGE, stall_seconds=stall_seconds)
    assert await handle(b"hi", context) is None


def events(*bodies: bytes, first: int = 1) -> tuple[EventDocument, ...]:
    return tuple(EventDocument(number, body) for number, body in enumerate(bodies, first))


# --- one answer -------------------------------------------------------------------------------


async def test_a_call_is_performed_with_what_its_headers_say() -> None:
    performs = FakePerforms()
    context = FakeContext({b"a2a-version": "1.0"})
    assert await send(performs, context) == b"echo hi"
    assert performs.asked == [(b"hi", {b"a2a-version": "1.0"})]
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
    with pytest.raises(GrpcFailedError) as told:
        await send(FakePerforms(), FakeContext(), params)
    assert (told.value.code, told.value.details) == (code, details)
    assert dict(told.value.metadata) == {STATUS_DETAILS: b"details"}


async def test_a_status_too_long_for_clients_is_cut() -> None:
    async def refuse(incoming: IncomingRequest) -> Principal:
        raise PermissionDeniedError("x" * MAX_STATUS_BYTES)

    handle = handler(FakePerforms(), enter=refuse)
    with pytest.raises(GrpcFailedError) as told:
        await handle(b"", FakeContext())
    assert told.value.details == "x" * (MAX_STATUS_BYTES // 4)
    assert dict(told.value.metadata) == {}


async def test_who_is_not_admitted_reaches_nobody() -> None:
    async def refuse(incoming: IncomingRequest) -> Principal:
        raise PermissionDeniedError

    performs = FakePerforms()
    handle = handler(performs, enter=refuse)
    with pytest.raises(GrpcFailedError) as told:
        await handle(b"", FakeContext())
    assert told.value.code == 7
    assert performs.asked == []


async def test_a_caller_that_has_left_leaves_no_follower() -> None:
    performs = FakePerforms()
    unread = ScriptedEvents(is_live=True)
    performs.answer = Answered(events=unread)
    context = FakeContext()
    context.is_gone = True
    with pytest.raises(asyncio.CancelledError):
        await stream(performs, context)
    assert unread.closed.is_set()
    assert performs.finished == 1
    assert performs.explained == []


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
    with pytest.raises(GrpcFailedError) as told:
        await stream(performs, context)
    assert (told.value.code, told.value.details) == (13, "Internal error")
    assert context.frames == [b"one"]
    assert shown.closed.is_set()


async def test_a_stream_that_cannot_begin_is_a_status() -> None:
    performs = FakePerforms()
    handle = handler(performs, Operation.SUBSCRIBE_TO_TASK)
    with pytest.raises(GrpcFailedError) as told:
        await handle(b"unknown", FakeContext())
    assert told.value.code == 5


async def test_a_reader_that_takes_nothing_for_too_long_is_cut() -> None:
    performs = FakePerforms()
    shown = ScriptedEvents(events(b"one"), is_live=True)
    performs.answer = Answered(events=shown)
    context = FakeContext()
    context.is_full = True
    with pytest.raises(GrpcFailedError) as told:
        await stream(performs, context, stall_seconds=0.01)
    assert told.value.code == 14
    assert shown.closed.is_set()


# --- who calls --------------------------------------------------------------------------------


async def test_a_call_shows_all_that_may_tell_who_calls() -> None:
    seen: list[Evidence] = []

    async def look(incoming: IncomingRequest) -> Principal:
        seen.append(incoming.evidence())
        return Principal(owner="ada")

    performs = FakePerforms()
    pem = "-----BEGIN CERTIFICATE-----\nZGVy\n-----END CERTIFICATE-----\n"
    context = FakeContext(fields=((b"x-api-key", b"k"),), peer=Peer("198.51.100.7", pem))
    await handler(performs, enter=look)(b"", context)
    assert seen == [Evidence(headers={b"x-api-key": "k"}, peer="198.51.100.7", certificate=b"der")]
    assert performs.principals == [Principal(owner="ada")]


async def test_who_was_let_in_before_its_message_came_is_not_asked_again() -> None:
    performs = FakePerforms()
    context = FakeContext()
    rpc = Calls(performs, enter=performs.enter, stall_seconds=60.0).rpc(
        dialect, Operation.SEND_MESSAGE
    )
    assert rpc.admit is not None
    assert rpc.unary is not None
    await rpc.admit(context)
    assert performs.asked == []
    assert await rpc.unary(b"hi", context) == b"echo hi"
    assert performs.admitted == ["192.0.2.1"]
    assert performs.principals == [Principal(owner="192.0.2.1")]


async def test_who_is_not_let_in_before_its_message_has_come_hears_why() -> None:
    async def refuse(incoming: IncomingRequest) -> Principal:
        raise UnauthenticatedError

    context = FakeContext()
    calls = Calls(FakePerforms(), enter=refuse, stall_seconds=60.0)
    admit = calls.rpc(dialect, Operation.SEND_MESSAGE).admit
    assert admit is not None
    with pytest.raises(GrpcFailedError) as told:
        await admit(context)
    assert told.value.code == 16
    assert context.incoming is None
