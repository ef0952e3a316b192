import json
from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.over_rest import RestInterface
from tests.support.conformance.http_line import ScriptedLine, reply

STREAM = "text/event-stream"
INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "TASK_NOT_FOUND",
    "domain": "a2a-protocol.org",
}
NOT_FOUND: dict[str, Any] = {
    "error": {"code": 404, "status": "NOT_FOUND", "message": "No.", "details": [INFO]}
}


def over(line: ScriptedLine, tenant: str = "") -> RestInterface:
    return RestInterface(line, "http://a/base/", version="1.0", tenant=tenant)


async def answered(*arguments: Any) -> Answer:
    return await over(ScriptedLine(reply(*arguments))).call("GetTask", {"id": "t"})


async def streamed(line: ScriptedLine, operation: str) -> list[Answer]:
    return [answer async for answer in over(line).stream(operation, {"id": "t"})]


@pytest.mark.parametrize(
    ("operation", "params", "verb", "url", "body"),
    [
        ("SendMessage", {"message": {}}, "POST", "/message:send", {"message": {}}),
        ("GetTask", {"id": "a/b", "historyLength": 0}, "GET", "/tasks/a%2Fb?historyLength=0", None),
        ("ListTasks", {"includeArtifacts": True}, "GET", "/tasks?includeArtifacts=true", None),
        ("CancelTask", {"id": "t"}, "POST", "/tasks/t:cancel", {}),
        (
            "CreateTaskPushNotificationConfig",
            {"taskId": "t", "id": "p", "url": "u"},
            "POST",
            "/tasks/t/pushNotificationConfigs",
            {"id": "p", "url": "u"},
        ),
        (
            "DeleteTaskPushNotificationConfig",
            {"taskId": "t", "id": "p"},
            "DELETE",
            "/tasks/t/pushNotificationConfigs/p",
            None,
        ),
        ("GetExtendedAgentCard", {}, "GET", "/extendedAgentCard", None),
    ],
)
async def test_every_operation_has_its_route(
    operation: str, params: dict[str, object], verb: str, url: str, body: object
) -> None:
    line = ScriptedLine(reply({}), reply({}))
    await over(line).call(operation, params)
    await over(line, tenant="a/b").call(operation, params)
    first, second = line.sent
    assert (first.verb, first.url) == (verb, f"http://a/base{url}")
    assert second.url == f"http://a/base/a%2Fb{url}"
    assert (json.loads(first.body) if first.body else None) == body
    assert first.headers["A2A-Version"] == "1.0"


async def test_an_error_is_known_by_its_reason() -> None:
    answer = await answered(NOT_FOUND, 404)
    assert answer.faults == ()
    assert answer.refusal is not None
    assert (answer.refusal.name, answer.refusal.code) == ("TaskNotFoundError", 404)


@pytest.mark.parametrize(
    ("body", "status", "content_type", "fault"),
    [
        ({"id": "t"}, 200, "text/html", "the content type must be application/a2a+json, but is"),
        (b"<h1>", 500, "application/json", "HTTP status 500"),
        (b"<h1>", 200, "application/json", "the body is not JSON"),
        (NOT_FOUND, 400, "application/json", 'the body of HTTP status 400 must have an "error"'),
        ({"error": {"code": 404, "message": "No."}}, 404, "application/json", "error.status is"),
    ],
)
async def test_what_is_wrong_with_an_answer_is_told(
    body: object, status: int, content_type: str, fault: str
) -> None:
    assert fault in "; ".join((await answered(body, status, content_type)).faults)


async def test_nothing_at_all_is_an_answer_too() -> None:
    assert await answered(b"", 204, "") == Answer(result={})


async def test_a_stream_is_events_and_may_end_with_an_error() -> None:
    events = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in ({"a": 1}, NOT_FOUND))
    first, last = await streamed(ScriptedLine(reply(events, 200, STREAM)), "SendStreamingMessage")
    assert first.result == {"a": 1}
    assert last.refusal is not None
    assert last.refusal.name == "TaskNotFoundError"


async def test_what_is_no_stream_is_told() -> None:
    (answer,) = await streamed(ScriptedLine(reply({"task": {}})), "SendStreamingMessage")
    assert answer.faults == ("a stream must be text/event-stream, but is application/json",)


async def test_who_has_only_get_for_following_is_asked_so() -> None:
    events = b'data: {"task": {}}\n\n'
    line = ScriptedLine(reply(b"no", 405, "text/plain"), reply(events, 200, STREAM))
    (answer,) = await streamed(line, "SubscribeToTask")
    assert answer.result == {"task": {}}
    assert [(sent.verb, sent.body) for sent in line.sent] == [("POST", b"{}"), ("GET", b"")]
    refusing = ScriptedLine(reply(NOT_FOUND, 404))
    (answer,) = await streamed(refusing, "SubscribeToTask")
    assert len(refusing.sent) == 1


async def test_mistakes_are_made_on_purpose() -> None:
    line = ScriptedLine(reply(NOT_FOUND, 404), reply(NOT_FOUND, 404))
    await over(line).call_unknown()
    await over(line).send_garbage()
    assert [sent.url for sent in line.sent] == [
        "http://a/base/no/such/route",
        "http://a/base/message:send",
    ]
