"""Errors, as the network's own server has written them."""

from typing import Any

import pytest

from dragoman.dialects.legacy.error_readers import read_error_object
from dragoman.dialects.profiles.xpr.errors import ERRORS_XPR, error_object
from dragoman.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from tests.support.chain_double import VECTORS


def recorded(case: str) -> dict[str, Any]:
    return next(
        one["response"]["error"] for one in VECTORS["server_exchanges"] if one["case"] == case
    )


@pytest.mark.parametrize(
    ("problem", "case"),
    [
        (UnauthenticatedError(), "no auth headers"),
        (UnauthenticatedError("Invalid signature: could not recover public key"), "bad sig string"),
        (TaskNotFoundError("zzz"), "tasks/get none"),
        (TaskNotCancelableError("task-1", "TASK_STATE_COMPLETED"), "tasks/cancel completed"),
        (InternalError("boom"), "agent throws"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_recorded(problem: A2AError, case: str) -> None:
    assert error_object(problem) == recorded(case)


def test_a_rate_limit_tells_when_to_come_back() -> None:
    words = recorded("rate 20")["message"]
    error = error_object(RateLimitedError(words, retry_after_seconds=12.2))
    assert error == {**recorded("rate 20"), "data": {"retryAfter": 13}}


@pytest.mark.parametrize(
    "problem", [PermissionDeniedError("KYC level 0 below minimum 1"), UnavailableError("away")]
)
def test_whoever_is_not_let_in_hears_one_code(problem: A2AError) -> None:
    error = error_object(problem)
    assert (error["code"], error["message"]) == (-32000, problem.message)


def test_other_errors_have_the_codes_of_json_rpc() -> None:
    assert error_object(InvalidParamsError("Invalid params: id is required"))["code"] == -32602


def test_the_same_table_reads_them() -> None:
    read = read_error_object(recorded("wrong key"), ERRORS_XPR)
    assert isinstance(read, UnauthenticatedError)
    assert "does not match any active key" in read.message
