"""Errors: one meaning, spelled as each binding spells it; they say what helps, never what hurts."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from dragoman import Agent, AgentExtension, Rejected, Reply
from tests.scenarios.agents import SECRET, make_agent, to
from tests.scenarios.bindings import (
    BAD_REQUEST,
    ERROR_INFO,
    ERRORS,
    Binding,
    HttpJson,
    JsonRpc,
    Problem,
    RefusedError,
    expect,
)
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

TERMS = "https://ext.example/terms/v1"


@pytest.fixture(scope="module")
async def odd_agent() -> AsyncIterator[Served]:
    """An agent with a promised card it does not have."""
    async with serving(make_agent(extended_card=True)) as agent:
        yield agent


@pytest.fixture(scope="module")
async def demanding_agent() -> AsyncIterator[Served]:
    """An agent with an extension everybody must use."""
    extensions = [AgentExtension(uri=TERMS, required=True)]
    async with serving(make_agent(extensions=extensions)) as agent:
        yield agent


async def cancel_of_a_finished_task(wire: Binding) -> Json:
    task = await wire.task(message())
    return await wire.cancel_task(task["id"])


# A way to each of the nine errors of A2A, and to the general ones.
WAYS: dict[str, Callable[[Binding], Awaitable[object]]] = {
    "TaskNotFoundError": lambda wire: wire.get_task("t-1"),
    "TaskNotCancelableError": cancel_of_a_finished_task,
    "PushNotificationNotSupportedError": lambda wire: wire.call(
        "ListTaskPushNotificationConfigs", {"taskId": "t-1"}
    ),
    "UnsupportedOperationError": lambda wire: wire.call("GetExtendedAgentCard"),
    "ContentTypeNotSupportedError": lambda wire: wire.send_message(
        message(parts=[{"raw": "AQI=", "mediaType": "audio/wav"}])
    ),
    "InvalidAgentResponseError": lambda wire: wire.send_message(to("reply_badly")),
    "VersionNotSupportedError": lambda wire: wire.call("ListTasks", headers={"A2A-Version": "2.0"}),
    "InvalidParamsError": lambda wire: wire.list_tasks(pageSize=0),
    "InternalError": lambda wire: wire.send_message(to("reply_and_fail")),
}


async def refusal(call: Awaitable[object]) -> Problem:
    with pytest.raises(RefusedError) as caught:
        await call
    return caught.value.problem


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-5.4-1", "R-5.1-3", "R-3.3.2-1", "R-3.3.2-20", "R-11.6-7", "R-9.5-4")
@pytest.mark.parametrize("error", WAYS)
async def test_every_error_is_spelled_as_the_table_says(wire: Binding, error: str) -> None:
    # expect() compares reason and code with section 6 of the reference.
    await expect(error, WAYS[error](wire))


@pytest.mark.requirement("R-5.4-1", "R-5.1-3")
async def test_the_error_of_a_card_that_is_not_configured(
    kind: type[Binding], odd_agent: Served
) -> None:
    async with kind(odd_agent.url) as wire:
        await expect("ExtendedAgentCardNotConfiguredError", wire.call("GetExtendedAgentCard"))


@pytest.mark.requirement("R-5.4-1", "R-5.1-3")
async def test_the_error_of_an_extension_that_is_required(
    kind: type[Binding], demanding_agent: Served
) -> None:
    async with kind(demanding_agent.url) as wire:
        await expect("ExtensionSupportRequiredError", wire.send_message(message()))


@pytest.mark.requirement("R-11.6-1", "R-11.6-2")
@pytest.mark.parametrize("error", WAYS)
async def test_over_http_an_error_is_a_status_and_a_body_that_repeats_it(
    rest: HttpJson, error: str
) -> None:
    problem = await refusal(WAYS[error](rest))
    assert list(problem.body) == ["error"]
    assert list(problem.body["error"]) == ["code", "status", "message", "details"]
    assert problem.body["error"]["code"] == problem.http == ERRORS[error].status
    assert problem.body["error"]["status"] == ERRORS[error].name


@pytest.mark.requirement("R-9.5-1", "R-9.5-2", "R-9.1-1")
@pytest.mark.parametrize("error", WAYS)
async def test_over_json_rpc_an_error_is_code_message_and_data_on_http_200(
    rpc: JsonRpc, error: str
) -> None:
    problem = await refusal(WAYS[error](rpc))
    assert problem.http == 200
    assert list(problem.body) == ["jsonrpc", "id", "error"]
    assert list(problem.body["error"]) == ["code", "message", "data"]
    assert isinstance(problem.body["error"]["data"], list)


@pytest.mark.requirement("R-3.3.2-17", "R-3.3.2-2")
@pytest.mark.parametrize("error", WAYS)
async def test_every_error_has_a_code_and_words(wire: Binding, error: str) -> None:
    problem = await refusal(WAYS[error](wire))
    assert isinstance(problem.code, int)
    assert problem.message


@pytest.mark.requirement("R-3.3.2-18", "R-9.5-5", "R-11.6-3", "R-3.3.2-19", "R-9.5-6")
@pytest.mark.parametrize("error", WAYS)
async def test_every_detail_has_a_type_of_google_rpc(wire: Binding, error: str) -> None:
    problem = await refusal(WAYS[error](wire))
    assert problem.details
    for detail in problem.details:
        assert detail["@type"].startswith("type.googleapis.com/google.rpc.")


@pytest.mark.requirement("R-11.6-6", "R-11.6-7", "R-11.6-8", "R-9.5-6")
@pytest.mark.parametrize("error", WAYS)
async def test_every_error_says_its_name_in_an_error_info(wire: Binding, error: str) -> None:
    problem = await refusal(WAYS[error](wire))
    assert problem.details[0]["@type"] == ERROR_INFO
    assert problem.info["reason"] == ERRORS[error].reason
    assert problem.info["domain"] == "a2a-protocol.org"


@pytest.mark.parametrize("error", WAYS)
async def test_the_metadata_of_an_error_are_strings(wire: Binding, error: str) -> None:
    #
    problem = await refusal(WAYS[error](wire))
    assert all(isinstance(value, str) for value in problem.metadata.values())


@pytest.mark.requirement("R-3.3.2-20", "R-5.1-3")
@pytest.mark.parametrize("error", [name for name in WAYS if name != "InternalError"])
async def test_an_error_means_the_same_on_every_binding(
    rpc: JsonRpc, rest: HttpJson, error: str
) -> None:
    one, other = await refusal(WAYS[error](rpc)), await refusal(WAYS[error](rest))
    # The task of a cancel is another one each time.
    for problem in (one, other):
        problem.info.get("metadata", {}).pop("taskId", None)
    assert one.message == other.message
    assert one.details == other.details


# --- validation ---------------------------------------------------------------------------------


def without(member: str) -> Json:
    """Return a message that lacks a member."""
    return {name: value for name, value in message().items() if name != member}


@pytest.mark.requirement(
    "R-3.3.2-9",
    "R-3.3.2-10",
    "R-3.3.2-11",
    "R-3.3.2-19",
    "R-5.7-1",
    "R-5.7-2",
    "R-5.7-3",
    "R-9.5-6",
    "R-11.6-4",
    "R-14.1.1-2",
    "R-4.1.6-1",
)
@pytest.mark.parametrize(
    ("params", "violation"),
    [
        # Required and absent, at every depth.
        ({}, ("message", "is required")),
        ({"message": without("messageId")}, ("message.messageId", "is required")),
        ({"message": without("role")}, ("message.role", "is required")),
        ({"message": without("parts")}, ("message.parts", "is required")),
        # Required and empty.
        ({"message": message(messageId="")}, ("message.messageId", "must not be empty")),
        ({"message": message(parts=[])}, ("message.parts", "must not be empty")),
        ({"message": message(role="ROLE_UNSPECIFIED")}, ("message.role", "is required")),
        # Of the wrong kind.
        ({"message": message(messageId=7)}, ("message.messageId", "expected string, got integer")),
        ({"message": message(parts="hi")}, ("message.parts", "expected array, got string")),
        ({"message": message(parts=["hi"])}, ("message.parts[0]", "expected object, got string")),
        ({"message": message(metadata=[])}, ("message.metadata", "expected object, got array")),
        (
            {"message": message(), "configuration": {"returnImmediately": "yes"}},
            ("configuration.returnImmediately", "expected boolean, got string"),
        ),
        (
            {"message": message(), "configuration": {"historyLength": 1.5}},
            ("configuration.historyLength", "expected integer, got number"),
        ),
        # Not one of the values there are.
        (
            {"message": message(role="ROLE_ROBOT")},
            ("message.role", "must be one of ROLE_USER, ROLE_AGENT"),
        ),
        # A part is exactly one thing.
        (
            {"message": message(parts=[{"text": "a"}, {}])},
            ("message.parts[1]", "needs exactly one of text, raw, url, data"),
        ),
        (
            {"message": message(parts=[{"text": "a", "url": "https://x.example/"}])},
            ("message.parts[0]", "needs exactly one of text, raw, url, data"),
        ),
        ({"message": message(parts=[{"raw": "%%%"}])}, ("message.parts[0].raw", "is not base64")),
        ({"message": message(parts=[None])}, ("message.parts[0]", "must not be null")),
        (
            {"message": {**message(), "message_id": "twice"}},
            ("message.messageId", "is given in two spellings"),
        ),
    ],
)
async def test_what_is_wrong_is_named_with_its_path(
    wire: Binding, params: Json, violation: tuple[str, str]
) -> None:
    problem = await expect("InvalidParamsError", wire.call("SendMessage", params))
    assert problem.violations == [violation]
    field, description = violation
    assert problem.message == f"Invalid parameters: {field} {description}"
    assert [detail["@type"] for detail in problem.details] == [ERROR_INFO, BAD_REQUEST]


@pytest.mark.requirement("R-3.3.2-9")
async def test_nothing_is_begun_by_an_invalid_request(wire: Binding, context: str) -> None:
    await expect(
        "InvalidParamsError",
        wire.send_message(message(contextId=context, extensions=[1])),
    )
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-13.4-6")
async def test_a_message_of_too_many_parts_is_refused(kind: type[Binding]) -> None:
    async with serving(make_agent(), max_parts=3) as served, kind(served.url) as wire:
        await wire.task(message(parts=[{"text": "x"}] * 3))
        problem = await expect(
            "InvalidParamsError", wire.send_message(message(parts=[{"text": "x"}] * 4))
        )
    assert problem.violations == [("message.parts", "must not hold more than 3 parts")]


# --- when the agent's own code fails ------------------------------------------------------------


async def test_an_exception_fails_the_task_and_says_only_an_id(
    wire: Binding, caplog: pytest.LogCaptureFixture
) -> None:
    #
    with caplog.at_level(logging.ERROR):
        answer = await wire.send_message(to("fail"))
    task = answer["task"]
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert SECRET not in json.dumps(answer)
    (part,) = task["status"]["message"]["parts"]
    words, _, error_id = part["text"].rpartition(" ")
    assert words == "The agent failed. Error id:"
    # Whoever runs the agent finds the whole story under that id.
    record = next(record for record in caplog.records if error_id in record.getMessage())
    assert SECRET in str(record.exc_info and record.exc_info[1])


async def test_an_exception_in_a_direct_answer_is_an_internal_error_with_an_id(
    wire: Binding, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        problem = await expect("InternalError", wire.send_message(to("reply_and_fail")))
    assert SECRET not in json.dumps(problem.body)
    error_id = problem.metadata["errorId"]
    assert problem.message == f"The agent failed. Error id: {error_id}"
    assert any(error_id in record.getMessage() for record in caplog.records)


async def test_an_exception_is_not_leaked_by_a_stream_either(wire: Binding) -> None:
    response = await wire.respond("SendStreamingMessage", {"message": to("fail")})
    assert SECRET not in response.text
    assert "TASK_STATE_FAILED" in response.text


async def test_an_exception_in_a_streamed_direct_answer_comes_in_place_of_the_stream(
    wire: Binding,
) -> None:
    response = await wire.respond("SendStreamingMessage", {"message": to("reply_and_fail")})
    with pytest.raises(RefusedError) as caught:
        wire.result(response)
    assert caught.value.problem.reason == "INTERNAL_ERROR"
    assert SECRET not in response.text


async def test_a_refusal_of_the_agent_is_told_in_its_own_words(wire: Binding) -> None:
    task = await wire.task(to("reject", "you"))
    assert task["status"]["state"] == "TASK_STATE_REJECTED"
    assert task["status"]["message"]["parts"] == [{"text": "Not for you."}]


async def test_what_the_protocol_does_not_allow_fails_the_task(wire: Binding) -> None:
    #
    task = await wire.task(to("append_to_nothing"))
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert task["status"]["message"]["parts"] == [
        {"text": "There is no artifact 'nothing' to append to"}
    ]


async def test_a_direct_refusal_is_the_answer(kind: type[Binding]) -> None:
    agent = Agent("Curt", "Declines.")

    @agent.skill
    async def decline(text: str) -> Reply:
        raise Rejected(f"No {text}.")

    async with serving(agent) as served, kind(served.url) as wire:
        answer = await wire.send_message(message("thanks"))
    assert answer["message"]["parts"] == [{"text": "No thanks."}]
