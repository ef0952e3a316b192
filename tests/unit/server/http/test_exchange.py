import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, MutableMapping
from typing import Any

import pytest

from dragoman.auth.incoming.authenticator import Evidence
from dragoman.errors import JSONParseError, PayloadTooLargeError
from dragoman.model.documents import EventDocument
from dragoman.net.asgi import ABORT, REPLY, Scope
from dragoman.server.admission.authentication import Guard
from dragoman.server.http.exchange import SECURITY_HEADERS, DisconnectedError, Exchange
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.service.principal import NOBODY

Event = MutableMapping[str, Any]

DOOR = Guard(allow_anonymous=True, max_body_bytes=10, max_depth=3, public_url=None)


class Peer:
    """The other end: what it sends, and what it was sent."""

    def __init__(self, *events: Event) -> None:
        self._events = list(events)
        self._gone = asyncio.Event()
        self.sent: list[Event] = []
        self.received = 0

    async def receive(self) -> Event:
        self.received += 1
        if self._events:
            return self._events.pop(0)
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        self.sent.append(event)

    def leave(self) -> None:
        """Close the connection."""
        self._gone.set()

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(event["body"] for event in self.sent[1:])


def scope(**members: object) -> Scope:
    """Return the scope of a request."""
    return {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [],
        "client": ("127.0.0.1", 5000),
        **members,
    }


def exchange(peer: Peer | None = None, **members: object) -> Exchange:
    peer = peer or Peer()
    return Exchange(scope(**members), peer.receive, peer.send)


def chunk(body: bytes, *, more: bool = False) -> Event:
    return {"type": "http.request", "body": body, "more_body": more}


GONE: Event = {"type": "http.disconnect"}


# --- the request ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"path": "/"}, "/"),
        ({"path": "/message:send"}, "/message:send"),
        # With and without a slash at the end.
        ({"path": "/tasks/"}, "/tasks"),
        ({"path": "//"}, "/"),
        # As sent: an encoded slash stays one. Some servers put the query there too.
        ({"path": "/tasks/a/b", "raw_path": b"/tasks/a%2Fb"}, "/tasks/a%2Fb"),
        ({"path": "/tasks", "raw_path": b"/tasks?pageSize=1"}, "/tasks"),
        ({"path": "/tasks", "raw_path": None}, "/tasks"),
        ({"path": "/tasks", "raw_path": b""}, "/tasks"),
        # A server that does not say how it was sent: encoded again, but for what sets off a verb.
        ({"path": "/tasks/a b"}, "/tasks/a%20b"),
        ({"path": "/tasks/t-1:cancel"}, "/tasks/t-1:cancel"),
        # Below where the application is mounted, whether the server tells it or has cut it off.
        ({"path": "/mount/tasks", "root_path": "/mount"}, "/tasks"),
        ({"path": "/mount/tasks", "root_path": "/mount/"}, "/tasks"),
        ({"path": "/x", "raw_path": b"/mount/a%20b", "root_path": "/mount"}, "/a%20b"),
        ({"path": "/mount", "root_path": "/mount"}, "/"),
        ({"path": "/tasks", "root_path": "/mount"}, "/tasks"),
        # A name that only begins like the mount is another name.
        ({"path": "/mountain", "root_path": "/mount"}, "/mountain"),
    ],
)
async def test_the_path_is_the_one_below_the_mount(members: dict[str, object], path: str) -> None:
    peer = Peer()
    assert Exchange(scope(**members), peer.receive, peer.send).path == path


async def test_a_request_knows_its_connection() -> None:
    known = exchange(scheme="https", server=("127.0.0.1", 443), root_path="/mount/")
    assert (known.method, known.peer, known.scheme) == ("POST", "127.0.0.1", "https")
    assert (known.server, known.root_path) == (("127.0.0.1", 443), "/mount")


async def test_what_the_server_does_not_tell_is_unknown() -> None:
    unknown = exchange(client=None)
    assert (unknown.peer, unknown.server, unknown.scheme, unknown.query) == (None, None, "http", "")


@pytest.mark.requirement("R-9.2-1", "R-11.2-1")
@pytest.mark.parametrize(
    ("headers", "query", "expected"),
    [
        # The header counts, also when it is empty.
        ([(b"a2a-version", b"1.0")], b"A2A-Version=0.3", "1.0"),
        ([(b"a2a-version", b"")], b"A2A-Version=0.3", ""),
        # R-3.6.1-2: else the query, of which the last counts.
        ([], b"A2A-Version=1.0", "1.0"),
        ([], b"A2A-Version=0.3&A2A-Version=1.0", "1.0"),
        ([], b"A2A-Version=1%2E0&x=y", "1.0"),
        # Neither.
        ([], b"x=y", None),
        ([], b"", None),
    ],
)
async def test_a_service_parameter_is_a_header_or_in_the_query(
    headers: list[tuple[bytes, bytes]], query: bytes, expected: str | None
) -> None:
    told = exchange(headers=headers, query_string=query)
    assert told.parameter(b"a2a-version", "A2A-Version") == expected


# --- the body ---------------------------------------------------------------------------------


async def read(*events: Event, content_length: bytes | None = None) -> bytes:
    headers = [] if content_length is None else [(b"content-length", content_length)]
    return await exchange(Peer(*events), headers=headers).read_body(DOOR)


async def test_a_body_in_one_piece() -> None:
    assert await read(chunk(b"0123456789"), content_length=b"10") == b"0123456789"


async def test_a_body_in_pieces() -> None:
    assert await read(chunk(b"01", more=True), chunk(b"", more=True), chunk(b"23")) == b"0123"


async def test_a_body_is_read_once_however_often_it_is_asked_for() -> None:
    peer = Peer(chunk(b"01", more=True), chunk(b"23"))
    asked = exchange(peer)
    assert [await asked.read_body(DOOR) for _ in range(3)] == [b"0123"] * 3
    assert peer.received == 2


async def test_a_body_that_was_refused_is_refused_again_and_not_waited_for() -> None:
    peer = Peer(chunk(b"[[[[]]]]"), chunk(b"1"))
    asked = exchange(peer)
    for _ in range(2):
        with pytest.raises(JSONParseError):
            await asked.read_body(DOOR)


async def test_what_is_shown_has_the_body_where_it_can_be_signed() -> None:
    asked = exchange(Peer(chunk(b"01")))
    shown = asked.evidence(lambda: asked.read_body(DOOR))
    assert shown.body is not None
    assert await shown.body() == b"01"
    assert asked.evidence().body is None


async def test_no_body() -> None:
    assert await read({"type": "http.request"}) == b""


async def test_a_body_that_is_announced_too_large_is_not_read() -> None:
    peer = Peer(chunk(b"x" * 11))
    with pytest.raises(PayloadTooLargeError):
        await exchange(peer, headers=[(b"content-length", b"11")]).read_body(DOOR)
    assert peer.received == 0


@pytest.mark.parametrize("announced", [None, b"5", b"many", b"-1", b"\xb2"])
async def test_a_body_that_is_too_large_is_refused_whatever_was_announced(
    announced: bytes | None,
) -> None:
    with pytest.raises(PayloadTooLargeError):
        await read(chunk(b"x" * 11), content_length=announced)


async def test_a_body_in_pieces_is_refused_as_soon_as_it_is_too_large() -> None:
    peer = Peer(chunk(b"x" * 6, more=True), chunk(b"x" * 6, more=True), chunk(b"x"))
    with pytest.raises(PayloadTooLargeError):
        await exchange(peer).read_body(DOOR)
    assert peer.received == 2


@pytest.mark.parametrize(
    "events",
    [
        [chunk(b"[[[[]]]]")],
        [chunk(b"[[[[", more=True), chunk(b"]]]]")],
    ],
)
async def test_a_body_that_is_nested_too_deep_is_refused(events: Iterable[Event]) -> None:
    with pytest.raises(JSONParseError):
        await read(*events)


@pytest.mark.parametrize(
    "events",
    [
        # Before the first byte, and in the middle.
        [GONE],
        [chunk(b"01", more=True), GONE],
    ],
)
async def test_who_leaves_before_the_end_of_the_body_is_gone(events: Iterable[Event]) -> None:
    with pytest.raises(DisconnectedError):
        await read(*events)


# --- one answer -------------------------------------------------------------------------------


async def test_an_answer_has_its_status_its_headers_and_its_body() -> None:
    peer = Peer()
    await exchange(peer).reply(201, b"application/json", b"{}", ((b"etag", b'"x"'),))
    assert (peer.status, peer.body) == (201, b"{}")
    assert peer.headers == {
        b"content-type": b"application/json",
        b"content-length": b"2",
        b"etag": b'"x"',
        **dict(SECURITY_HEADERS),
    }


async def test_what_is_left_of_a_limit_goes_with_any_answer() -> None:
    peer = Peer()
    answered = exchange(peer)
    answered.allowance = ((b"x-ratelimit-remaining", b"3"),)
    await answered.reply(404, b"application/json", b"{}")
    assert peer.headers[b"x-ratelimit-remaining"] == b"3"


async def test_the_answer_to_head_is_the_answer_to_get_without_its_body() -> None:
    peer = Peer()
    await exchange(peer, method="HEAD").reply(200, b"application/json", b"{}")
    assert (peer.headers[b"content-length"], peer.body) == (b"2", b"")


async def test_a_server_that_takes_an_answer_as_a_whole_gets_it_so() -> None:
    peer = Peer()
    exchange = Exchange(scope(method="HEAD", extensions={REPLY: {}}), peer.receive, peer.send)
    await exchange.reply(200, b"application/json", b"{}", ((b"etag", b'"1"'),))
    headers = ((b"content-type", b"application/json"), (b"etag", b'"1"'), *SECURITY_HEADERS)
    assert peer.sent == [{"type": REPLY, "status": 200, "headers": headers, "body": b"{}"}]


async def test_not_modified_tells_no_length() -> None:
    # RFC 9110, 8.6: 0 would be the length of what the client has.
    peer = Peer()
    await exchange(peer).reply(304, b"application/json", b"")
    assert b"content-length" not in peer.headers


# --- a stream ---------------------------------------------------------------------------------


class Events:
    """An EventStream of batches; what is an error is raised, and None waits until it is closed."""

    def __init__(self, *batches: Exception | int | None) -> None:
        self._batches = batches
        self._closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        for batch in self._batches:
            if isinstance(batch, Exception):
                raise batch
            if batch is None:
                await self._closed.wait()
                return
            yield (EventDocument(batch, b"%d" % batch),)

    async def aclose(self) -> None:
        self._closed.set()


class Renderer:
    """Writes numbers; the one it is told about is the last."""

    def __init__(self, last: int | None = None) -> None:
        self._last = last
        self.has_ended = False

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        self.has_ended = any(event.seq == self._last for event in events)
        return b"".join(event.json for event in events) + b";"

    def failure(self, problem: Exception) -> bytes:
        return f"failed: {problem};".encode()


async def stream(
    peer: Peer,
    events: Events,
    *,
    stall_seconds: float = 60,
    last: int | None = None,
    **members: object,
) -> None:
    background = BackgroundTasks()
    try:
        await exchange(peer, **members).stream(
            events,
            Renderer(last),
            background=background,
            stall_seconds=stall_seconds,
            extra=((b"a2a-extensions", b"u"),),
        )
    finally:
        await background.close()


@pytest.mark.requirement("R-9.1-4", "R-11.1-2")
async def test_a_stream_is_an_event_stream_that_nobody_holds_back() -> None:
    peer = Peer()
    await stream(peer, Events())
    assert (peer.status, peer.headers) == (
        200,
        {
            b"content-type": b"text/event-stream",
            b"cache-control": b"no-store",
            b"x-accel-buffering": b"no",
            b"a2a-extensions": b"u",
            **dict(SECURITY_HEADERS),
        },
    )


async def test_a_stream_sends_batch_after_batch_and_ends_with_its_events() -> None:
    peer, events = Peer(), Events(1, 2)
    await stream(peer, events)
    assert [event["body"] for event in peer.sent[1:]] == [b"1;", b"2;", b""]
    assert [event.get("more_body", False) for event in peer.sent[1:]] == [True, True, False]
    assert events.is_closed


async def test_a_stream_ends_with_the_event_that_says_so() -> None:
    peer = Peer()
    await stream(peer, Events(1, 2, 3), last=2)
    assert peer.body == b"1;2;"


async def test_a_failure_is_the_last_event() -> None:
    peer, events = Peer(), Events(1, ValueError("broken"))
    await stream(peer, events)
    assert peer.body == b"1;failed: broken;"
    assert peer.sent[-1] == {"type": "http.response.body", "body": b""}
    assert events.is_closed


@pytest.mark.requirement("R-3.5.2-7")
async def test_a_stream_ends_when_its_reader_is_gone() -> None:
    peer, events = Peer(chunk(b"late")), Events(1, None)
    async with asyncio.TaskGroup() as group:
        group.create_task(stream(peer, events))
        await asyncio.sleep(0)
        peer.leave()
    assert events.is_closed


class StuckPeer(Peer):
    """A peer that takes the headers and then nothing."""

    async def send(self, event: Event) -> None:
        if event["type"] == "http.response.body":
            await asyncio.Event().wait()
        await super().send(event)


async def test_a_stream_ends_when_its_reader_takes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    peer, events = StuckPeer(), Events(1, None)
    await stream(peer, events, stall_seconds=0)
    assert events.is_closed
    assert caplog.messages == ["a stream to 127.0.0.1 is cut: its reader took nothing for too long"]


async def test_its_connection_is_cut_where_the_server_offers_that() -> None:
    cuts: list[str] = []
    abort = {"call": lambda: cuts.append("cut")}
    peer, events = StuckPeer(), Events(1, None)
    await stream(peer, events, stall_seconds=0, extensions={ABORT: abort})
    assert cuts == ["cut"]


async def test_no_connection_is_cut_while_its_reader_reads() -> None:
    cuts: list[str] = []
    abort = {"call": lambda: cuts.append("cut")}
    await stream(Peer(), Events(1, ValueError("broken")), extensions={ABORT: abort})
    assert cuts == []


@pytest.mark.parametrize(
    "events",
    [
        # Stuck at the error, and at the very end.
        [ValueError("broken")],
        [],
    ],
)
async def test_a_reader_that_does_not_take_the_end_is_cut_too(events: list[Exception]) -> None:
    cuts: list[str] = []
    abort = {"call": lambda: cuts.append("cut")}
    await stream(StuckPeer(), Events(*events), stall_seconds=0, extensions={ABORT: abort})
    assert cuts == ["cut"]


async def test_a_source_that_times_out_is_told_like_any_failure() -> None:
    peer = Peer()
    await stream(peer, Events(TimeoutError("too slow")))
    assert peer.body == b"failed: too slow;"


async def test_a_stream_that_is_canceled_is_closed() -> None:
    peer, events = Peer(), Events(None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stream(peer, events))
        await asyncio.sleep(0)
        task.cancel()
    assert events.is_closed


# --- who calls ----------------------------------------------------------------------------------

PEM = "-----BEGIN CERTIFICATE-----\nZGVy\n-----END CERTIFICATE-----\n"


async def test_a_request_shows_all_that_may_tell_who_calls() -> None:
    shown = exchange(
        headers=[(b"x-api-key", b"k")],
        query_string=b"key=q%20",
        client=("192.0.2.1", 5000),
        extensions={"tls": {"client_cert_chain": [PEM]}},
    ).evidence()
    assert shown == Evidence(
        headers={b"x-api-key": "k"}, query="key=q%20", peer="192.0.2.1", certificate=b"der"
    )


@pytest.mark.parametrize(
    "extensions", [{}, {"tls": {}}, {"tls": {"client_cert_chain": []}}, {"tls": None}]
)
async def test_a_connection_without_a_certificate_shows_none(
    extensions: dict[str, object],
) -> None:
    assert exchange(extensions=extensions).evidence().certificate is None


async def test_until_the_door_has_told_a_caller_is_nobody() -> None:
    assert exchange().principal is NOBODY
