"""What a stream has beside the events, where its dialect asks for it."""

import msgspec
import pytest

from dragoman.bindings import sse
from dragoman.dialects.base import RestDialect
from dragoman.dialects.profiles.rxjs.profile import RXJS_REST_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.server.http.calls import SseRenderer


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


def renderer(dialect: RestDialect = RXJS_REST_DIALECT) -> SseRenderer:
    return SseRenderer(
        dialect,
        b"",
        b"",
        render_failure=lambda problem: str(problem).encode(),
        wrap_error=lambda error: b"<%b>" % error,
    )


def test_a_heartbeat_is_the_comment_that_the_dialect_has() -> None:
    assert renderer().batch(()) == b": keep-alive\n\n"
    assert renderer(V1_0_DIALECT).batch(()) == sse.HEARTBEAT


@pytest.mark.parametrize(
    ("reason", "code"), [("input-timeout", b"-32001"), ("tool-execution-failed", b"-32002")]
)
def test_why_a_task_has_failed_comes_before_its_end(reason: str, code: bytes) -> None:
    body = renderer().batch((failed(reason),))
    first, second, _ = body.split(b"\n\n")
    assert first.startswith(b'data: <{"code":' + code)
    assert b'"failed"' in second


def test_a_failure_without_a_known_reason_is_told_alone() -> None:
    assert renderer().batch((failed(),)).count(b"data: ") == 1
    assert renderer(V1_0_DIALECT).batch((failed("input-timeout"),)).count(b"data: ") == 1


def test_the_connection_is_spoken_of_on_http_1_alone() -> None:
    rules = RXJS_REST_DIALECT.http
    assert dict(rules.stream_headers) == {b"cache-control": b"no-cache"}
    assert dict(rules.http1_stream_headers) == {b"connection": b"keep-alive"}
