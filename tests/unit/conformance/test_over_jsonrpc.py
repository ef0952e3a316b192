import json
from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.forms import FORM_0_3, FORM_1_0
from dragoman.conformance.over_jsonrpc import JsonRpcInterface
from tests.support.conformance.http_line import ScriptedLine, reply

NONE: dict[str, Any] = {}
HEAD: dict[str, Any] = {"jsonrpc": "2.0", "id": "conformance-1"}
STREAM = "text/event-stream"


def over(line: ScriptedLine, tenant: str = "") -> JsonRpcInterface:
    return JsonRpcInterface(line, "http://a/rpc", version="1.0", form=FORM_1_0, tenant=tenant)


async def answered(*arguments: Any, **options: Any) -> Answer:
    return await over(ScriptedLine(reply(*arguments, **options))).call("GetTask", {"id": "t"})


async def test_a_call_is_an_envelope_with_version_and_tenant() -> None:
    line = ScriptedLine(reply({**HEAD, "result": {"id": "t"}}))
    answer = await over(line, tenant="me").call("GetTask", {"id": "t"})
    assert (answer.result, answer.refusal, answer.faults) == ({"id": "t"}, None, ())
    (sent,) = line.sent
    assert (sent.verb, sent.url, sent.headers["A2A-Version"]) == ("POST", "http://a/rpc", "1.0")
    assert json.loads(sent.body) == {
        **HEAD,
        "method": "GetTask",
        "params": {"tenant": "me", "id": "t"},
    }


async def test_another_version_can_be_said() -> None:
    line = ScriptedLine(reply({**HEAD, "error": {"code": -32009, "message": "No."}}))
    answer = await over(line).call("GetTask", {"id": "t"}, version="99.0")
    assert line.sent[0].headers["A2A-Version"] == "99.0"
    assert answer.refusal is not None
    assert answer.refusal.name == "VersionNotSupportedError"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (None, 'the response has no "jsonrpc": "2.0"'),
        ({"id": "conformance-1", "result": NONE}, 'the response has no "jsonrpc": "2.0"'),
        (HEAD, "the response must have either a result or an error"),
        ({**HEAD, "id": 2, "result": NONE}, "the id of the response is 2, not that of the request"),
        (
            {**HEAD, "error": {"code": "x"}},
            "an error must have a code (a number) and a message (a text)",
        ),
        (
            {**HEAD, "error": {"code": 1, "message": "m", "data": NONE}},
            "error.data must be an array of objects",
        ),
        (
            {**HEAD, "error": {"code": 1, "message": "m", "data": [NONE]}},
            "every object of error.data must have an @type",
        ),
    ],
)
async def test_what_is_wrong_with_an_envelope_is_told(body: object, fault: str) -> None:
    assert (await answered(body)).faults[0] == fault


async def test_what_is_wrong_with_the_http_is_told() -> None:
    answer = await answered(b"<h1>", 500, "text/html")
    assert answer.faults == (
        "HTTP status 500",
        "the content type must be application/json, but is 'text/html'",
        "the body is not JSON: '<h1>'",
    )


async def test_a_stream_is_events_each_an_envelope() -> None:
    events = b"".join(
        b"data: %b\n\n" % json.dumps({**HEAD, "result": {"task": number}}).encode()
        for number in (1, 2)
    )
    line = ScriptedLine(reply(events, 200, STREAM))
    found = [answer.result async for answer in over(line).stream("SubscribeToTask", {"id": "t"})]
    assert found == [{"task": 1}, {"task": 2}]


async def test_one_result_is_no_stream_but_one_refusal_is() -> None:
    line = ScriptedLine(
        reply({**HEAD, "result": {}}), reply({**HEAD, "error": {"code": -32004, "message": "No."}})
    )
    (lone,) = [answer async for answer in over(line).stream("SubscribeToTask", {"id": "t"})]
    assert lone.faults == ("a stream must be text/event-stream, but is application/json",)
    (refusal,) = [answer async for answer in over(line).stream("SubscribeToTask", {"id": "t"})]
    assert refusal.faults == ()
    assert refusal.refusal is not None


async def test_mistakes_are_made_on_purpose() -> None:
    missing, unreadable = ({"code": code, "message": "No."} for code in (-32601, -32700))
    line = ScriptedLine(reply({**HEAD, "error": missing}), reply({**HEAD, "error": unreadable}))
    unknown = await over(line).call_unknown()
    garbage = await over(line).send_garbage()
    assert unknown.refusal is not None
    assert garbage.refusal is not None
    assert unknown.refusal.name == "MethodNotFoundError"
    assert garbage.refusal.name == "JSONParseError"
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(line.sent[1].body)


async def test_0_3_has_other_objects_and_no_typed_details() -> None:
    line = ScriptedLine(
        reply({**HEAD, "result": {"kind": "task", "id": "t", "status": {"state": "working"}}}),
        reply({**HEAD, "error": {"code": -32001, "message": "No.", "data": {"any": 1}}}),
    )
    interface = JsonRpcInterface(line, "http://a/", version="0.3", form=FORM_0_3)
    answer = await interface.call("GetTask", {"id": "t"})
    assert answer.result == {"kind": "task", "id": "t", "status": {"state": "TASK_STATE_WORKING"}}
    assert json.loads(line.sent[0].body)["method"] == "tasks/get"
    assert (await interface.call("GetTask", {"id": "t"})).faults == ()
