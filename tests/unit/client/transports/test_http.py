import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from dragoman.auth.outgoing.credentials import Attachment
from dragoman.bindings.sse import SseEvent
from dragoman.client.errors import CutError, ProtocolError
from dragoman.client.transports.base import Batch
from dragoman.client.transports.http import FrameNumbers, HttpTransport
from dragoman.client.transports.jsonrpc import RpcFraming
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.rest import RestFraming
from dragoman.dialects.negotiation import Version
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import RateLimitedError, TaskNotFoundError, UnavailableError
from dragoman.model.operations import GetTaskRequest, Operation, SubscribeToTaskRequest
from dragoman.model.tasks import Task
from tests.support.client.fakes import NOBODY, Web, send, sse, web_pool

URL = "http://agent.test/rpc"
NEW = RpcFraming(V1_0_DIALECT, URL, Version(1, 0))
OLD = RpcFraming(V0_3_DIALECT, URL, Version(0, 3))
REST = RestFraming(V1_0_DIALECT, "http://agent.test", Version(1, 0), ROUTES)

TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
OLD_TASK = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
READ = (Operation.GET_TASK, GetTaskRequest(id="t"))
STREAM = (Operation.SEND_STREAMING_MESSAGE, send())
FOLLOW = (Operation.SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"))


def result(value: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "result": value}


def error(code: int, message: str = "no") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


async def drain(stream: AsyncIterator[Batch]) -> list[int]:
    """Return the numbers of all frames."""
    return [frame.seq async for batch in stream for frame in batch]


# --- unary --------------------------------------------------------------------------------------


async def test_a_call_is_one_exchange() -> None:
    web = Web(lambda _: httpx2.Response(200, json=result(TASK)))
    found = await HttpTransport(NEW, web_pool(web), NOBODY).call(*READ, ("urn:x",))
    assert isinstance(found, Task)
    headers = web.last.headers
    assert (headers["a2a-version"], headers["a2a-extensions"]) == ("1.0", "urn:x")
    assert headers["content-type"] == "application/json"
    assert web.body["method"] == "GetTask"


@pytest.mark.requirement("R-7.3-3")
async def test_what_shows_who_calls_goes_along() -> None:
    class Everything:
        async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
            del origin, is_retry
            return Attachment(headers={"X-Key": "h"}, query={"key": "q"}, cookies={"key": "c"})

    web = Web(lambda _: httpx2.Response(200, json=TASK))
    request_headers = RequestHeaders("http://agent.test:80", {"X-Team": "blue"}, Everything())
    transport = HttpTransport(REST, web_pool(web), request_headers)
    await transport.call(Operation.GET_TASK, GetTaskRequest(id="t", history_length=1), ())
    assert web.last.url.query == b"historyLength=1&key=q"
    assert (web.last.headers["x-key"], web.last.headers["cookie"]) == ("h", "key=c")
    assert web.last.headers["x-team"] == "blue"
    assert transport.renew()


async def test_a_refusal_is_raised() -> None:
    web = Web(lambda _: httpx2.Response(200, json=error(-32001)))
    with pytest.raises(TaskNotFoundError):
        await HttpTransport(NEW, web_pool(web), NOBODY).call(*READ, ())


@pytest.mark.parametrize(("status", "kind"), [(503, UnavailableError), (429, RateLimitedError)])
async def test_when_to_come_back_may_be_said_by_http(status: int, kind: type[Exception]) -> None:
    web = Web(lambda _: httpx2.Response(status, headers={"retry-after": "7"}))
    transport = HttpTransport(NEW, web_pool(web), NOBODY)
    with pytest.raises(kind) as caught:
        await transport.call(*READ, ())
    assert getattr(caught.value, "retry_after_seconds") == 7  # noqa: B009 - one of two kinds
    with pytest.raises(kind):
        await drain(transport.stream(*STREAM, (), 0))


# --- streams ------------------------------------------------------------------------------------


async def test_a_stream_is_cut_into_numbered_frames() -> None:
    web = Web(lambda _: sse(result({"task": TASK}), result({"task": TASK}), ids=True))
    transport = HttpTransport(NEW, web_pool(web), NOBODY)
    assert await drain(transport.stream(*STREAM, (), 41)) == [1, 2]
    headers = web.last.headers
    assert headers["last-event-id"] == "41"
    assert headers["accept"].startswith("text/event-stream")
    assert headers["accept-encoding"] == "identity"


async def test_older_versions_know_no_numbers() -> None:
    web = Web(lambda _: sse(result(OLD_TASK), ids=True))
    transport = HttpTransport(OLD, web_pool(web), NOBODY)
    assert await drain(transport.stream(*STREAM, (), 0)) == [0]
    assert "last-event-id" not in web.last.headers


def test_a_number_is_told_once() -> None:
    numbers = FrameNumbers()
    ids = ["", "1", "1", "2", "x", "9" * 30]
    assert [numbers.take(SseEvent(b"", each)) for each in ids] == [0, 1, 0, 2, 0, 0]


async def test_signs_of_life_are_empty_batches() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b":\n\n"
        yield b'data: {"jsonrpc":"2.0","id":1,'
        yield b'"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}\n\n'

    headers = {"content-type": "text/event-stream"}
    web = Web(lambda _: httpx2.Response(200, headers=headers, content=body()))
    batches = HttpTransport(NEW, web_pool(web), NOBODY).stream(*STREAM, (), 0)
    assert [len(batch) async for batch in batches] == [0, 0, 1]


async def test_silence_is_taken_for_a_cut() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b":\n\n"
        await asyncio.sleep(60)

    headers = {"content-type": "text/event-stream"}
    web = Web(lambda _: httpx2.Response(200, headers=headers, content=body()))
    transport = HttpTransport(NEW, web_pool(web), NOBODY, idle_seconds=0.02)
    with pytest.raises(CutError, match=r"nothing came for 0\.02 seconds"):
        await drain(transport.stream(*STREAM, (), 0))


async def test_an_error_ends_a_stream_after_what_came_before_it() -> None:
    web = Web(lambda _: sse(result({"task": TASK}), error(-32001)))
    stream = HttpTransport(NEW, web_pool(web), NOBODY).stream(*STREAM, (), 0)
    assert len(await anext(stream)) == 1
    with pytest.raises(TaskNotFoundError):
        await anext(stream)


async def test_an_error_that_comes_first_is_all_there_is() -> None:
    web = Web(lambda _: sse(error(-32001)))
    with pytest.raises(TaskNotFoundError):
        await anext(HttpTransport(NEW, web_pool(web), NOBODY).stream(*STREAM, (), 0))


async def test_what_comes_in_place_of_a_stream_is_read() -> None:
    answers = iter([result({"task": TASK}), error(-32001)])
    web = Web(lambda _: httpx2.Response(200, json=next(answers)))
    transport = HttpTransport(NEW, web_pool(web), NOBODY)
    assert await drain(transport.stream(*STREAM, (), 0)) == [0]
    with pytest.raises(TaskNotFoundError):
        await drain(transport.stream(*STREAM, (), 0))


async def test_neither_an_event_nor_an_answer_may_be_endless() -> None:
    web = Web(lambda request: sse(result(TASK)) if b"Stream" in request.content else LARGE)
    transport = HttpTransport(NEW, web_pool(web), NOBODY, max_bytes=9)
    with pytest.raises(ProtocolError, match="too long"):
        await drain(transport.stream(*STREAM, (), 0))
    with pytest.raises(ProtocolError, match="more than 9 bytes"):
        await transport.call(*READ, ())


LARGE = httpx2.Response(200, content=b" " * 10)


async def test_a_stream_may_not_be_endless() -> None:
    events = [result({"task": TASK})] * 10
    web = Web(lambda _: sse(*events))
    transport = HttpTransport(NEW, web_pool(web), NOBODY, max_stream_bytes=500)
    with pytest.raises(ProtocolError, match="the stream has more than 500 bytes"):
        await drain(transport.stream(*STREAM, (), 0))


async def test_signs_of_life_do_not_count() -> None:
    body = b":\n\n" * 1000 + sse(result({"task": TASK})).content
    headers = {"content-type": "text/event-stream"}
    web = Web(lambda _: httpx2.Response(200, headers=headers, content=body))
    transport = HttpTransport(NEW, web_pool(web), NOBODY, max_stream_bytes=500)
    assert await drain(transport.stream(*STREAM, (), 0)) == [0]


async def test_the_other_verb_is_tried_where_one_is_not_known() -> None:
    web = Web(
        lambda request: httpx2.Response(405) if request.method == "POST" else sse({"task": TASK})
    )
    transport = HttpTransport(REST, web_pool(web), NOBODY)
    assert await drain(transport.stream(*FOLLOW, (), 0)) == [0]
    assert [request.method for request in web.requests] == ["POST", "GET"]
    await transport.aclose()
