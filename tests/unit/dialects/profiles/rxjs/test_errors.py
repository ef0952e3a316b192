import json

import pytest

from dragoman.dialects.profiles.rxjs.errors import error_object, http_error, last_error
from dragoman.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
)
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState, TaskStatus


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        (
            TaskNotFoundError("t"),
            -32001,
            "Task not found",
            {"taskId": "t", "reason": "task-not-found"},
        ),
        (InvalidRequestError("no id"), -32600, "Invalid Request", {"reason": "no id"}),
        (JSONParseError("no JSON"), -32700, "Parse error", {"reason": "no JSON"}),
        (
            InternalError("it broke", metadata={"errorId": "e"}),
            -32603,
            "Internal error",
            {"error": "it broke", "errorId": "e", "reason": "internal-error"},
        ),
    ],
)
def test_what_is_meant_is_in_the_reason(
    error: A2AError, code: int, message: str, data: dict[str, object]
) -> None:
    assert error_object(error) == {"code": code, "message": message, "data": data}


def test_the_fields_that_are_wrong_are_named() -> None:
    told = error_object(InvalidParamsError.of("message.kind", "must be 'message'"))
    assert (told["code"], told["message"]) == (-32602, "Invalid params")
    assert isinstance(told["data"], dict)
    assert told["data"]["reason"] == "message.kind must be 'message'"
    assert told["data"]["fieldViolations"]


def test_the_numbers_are_those_of_0_3() -> None:
    assert error_object(TaskNotCancelableError("t", "completed"))["code"] == -32002


def test_when_to_come_back_is_told() -> None:
    told = error_object(RateLimitedError("slow down", retry_after_seconds=3))
    assert isinstance(told["data"], dict)
    assert told["data"]["retryAfterSeconds"] == 3


def test_who_may_not_is_told_of_the_skill() -> None:
    denied = PermissionDeniedError.for_want_of({"admin"}, "admin-tools")
    assert error_object(denied) == {
        "code": -32603,
        "message": "Forbidden: Insufficient permissions for skill 'admin-tools'",
    }
    assert error_object(PermissionDeniedError())["message"] == "Forbidden: Insufficient permissions"


def test_a_route_tells_the_status_in_its_body() -> None:
    status, body = http_error(TaskNotFoundError("t"))
    error = json.loads(body)["error"]
    assert (status, error["code"], error["message"]) == (404, 404, "Task not found")
    assert error["data"]["taskId"] == "t"


def ended(state: TaskState, failure: object) -> StreamResponse:
    message = Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="No answer"),),
        metadata={CLIENT_TOOLS: {"failure": failure}} if failure else None,
    )
    update = TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=TaskStatus(state=state, message=message)
    )
    return StreamResponse(status_update=update)


def test_a_task_that_had_no_answer_ends_with_an_error() -> None:
    failure = {"reason": "input-timeout", "timeoutSeconds": 300}
    assert last_error(ended(TaskState.FAILED, failure)) == {
        "code": -32001,
        "message": "Input timeout",
        "data": {"taskId": "t", **failure, "detail": "No answer"},
    }


@pytest.mark.parametrize(
    ("state", "failure"),
    [
        (TaskState.FAILED, None),
        (TaskState.FAILED, "input-timeout"),
        (TaskState.FAILED, {"reason": "bad luck"}),
        (TaskState.COMPLETED, {"reason": "input-timeout"}),
    ],
)
def test_other_ends_have_no_error_behind_them(state: TaskState, failure: object) -> None:
    assert last_error(ended(state, failure)) is None
