import msgspec
import pytest

from dragoman.dialects.profiles.rxjs_dialects import RXJS_DIALECT
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.server.rxjs_streams import RxjsRenderer, stream_headers


class Inner:
    """Writes what it is given as a number, and ends when the test says so."""

    has_ended = False

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        return b"data: %d\n\n" % len(events)

    def failure(self, problem: Exception) -> bytes:
        return str(problem).encode()


def failed(reason: str = "") -> EventDocument:
    metadata: dict[str, object] = {CLIENT_TOOLS: {"failure": {"reason": reason}}}
    message = Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="late"),),
        metadata=metadata if reason else None,
    )
    status = TaskStatus(state=TaskState.FAILED, message=message)
    update = TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    return EventDocument(1, msgspec.json.encode(StreamResponse(status_update=update)))


def renderer(*, has_ended: bool) -> RxjsRenderer:
    inner = Inner()
    inner.has_ended = has_ended
    return RxjsRenderer(inner, RXJS_DIALECT, lambda error: b"<%b>" % error)


def test_a_heartbeat_is_a_comment() -> None:
    assert renderer(has_ended=False).batch(()) == b": keep-alive\n\n"


def test_events_are_written_as_they_are() -> None:
    assert renderer(has_ended=False).batch((failed("input-timeout"),)) == b"data: 1\n\n"
    assert renderer(has_ended=True).batch((failed(),)) == b"data: 1\n\n"
    assert renderer(has_ended=False).failure(ValueError("cut")) == b"cut"


@pytest.mark.parametrize(
    ("reason", "code"), [("input-timeout", b"-32001"), ("tool-execution-failed", b"-32002")]
)
def test_why_a_task_has_failed_follows_its_end(reason: str, code: bytes) -> None:
    body = renderer(has_ended=True).batch((failed(reason),))
    first, second, _ = body.split(b"\n\n")
    assert first == b"data: 1"
    assert second.startswith(b'data: <{"code":' + code)


def test_the_connection_is_spoken_of_where_it_is_one_of_http_1() -> None:
    assert dict(stream_headers(is_http1=True)) == {
        b"cache-control": b"no-cache",
        b"connection": b"keep-alive",
    }
    assert b"connection" not in dict(stream_headers(is_http1=False))
