from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.v1_0.errors import (
    decode_details,
    decode_error,
    decode_http_error,
    details,
    encode_error,
    encode_http_error,
)
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    FieldViolation,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotAllowedError,
    MethodNotFoundError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    spelling_of,
)
from tests.support.strategies import json_values

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "v1_0" / "errors"
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


def example(kind: type[A2AError]) -> A2AError:
    error = kind.__new__(kind)
    A2AError.__init__(
        error,
        "what happened",
        metadata={"taskId": "t"},
        violations=(FieldViolation("a.b", "is wrong"),),
        retry_after_seconds=1.5,
    )
    return error


@pytest.mark.requirement("R-11.6-6", "R-11.6-7", "R-11.6-8", "R-3.3.2-18", "R-3.3.2-20")
def test_the_details_are_typed_objects() -> None:
    assert msgspec.json.decode(msgspec.json.encode(details(example(InvalidParamsError)))) == [
        {
            "@type": INFO,
            "reason": "INVALID_PARAMS",
            "domain": "a2a-protocol.org",
            "metadata": {"taskId": "t"},
        },
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": "a.b", "description": "is wrong"}],
        },
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"},
    ]


def test_details_without_content_are_left_out() -> None:
    info = {"@type": INFO, "reason": "INTERNAL_ERROR", "domain": "a2a-protocol.org"}
    assert details(InternalError()) == [info]


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.0, "1s"), (0.25, "0.25s"), (10, "10s"), (0, "0s")]
)
def test_a_delay_is_written_as_a_duration(seconds: float, text: str) -> None:
    assert details(UnavailableError(retry_after_seconds=seconds))[-1]["retryDelay"] == text


def test_a_class_without_a_row_is_written_as_its_base() -> None:
    class StaleCursorError(InvalidParamsError):
        """A kind of our own."""

    assert spelling_of(StaleCursorError()) is SPELLINGS[InvalidParamsError]
    assert spelling_of(A2AError()) is SPELLINGS[InternalError]


def test_method_not_allowed_is_405() -> None:
    error = MethodNotAllowedError(("GET", "POST"))
    assert error.allow == ("GET", "POST")
    assert spelling_of(error).http == 405
    assert details(error)[0]["reason"] == "METHOD_NOT_ALLOWED"


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-5.1-3", "R-3.3.2-20")
@pytest.mark.parametrize("kind", SPELLINGS, ids=lambda kind: kind.__name__)
def test_every_error_reads_back_from_both_bindings(kind: type[A2AError]) -> None:
    error = example(kind)
    over_jsonrpc = decode_error(msgspec.json.decode(encode_error(error)))
    over_http = decode_http_error(*encode_http_error(error))
    assert type(over_jsonrpc) is kind
    # Over HTTP both of these have the reason INVALID_REQUEST.
    assert type(over_http) is (InvalidRequestError if kind is JSONParseError else kind)
    for seen in (over_jsonrpc, over_http):
        assert seen.message == "what happened"
        assert seen.metadata == error.metadata
        assert seen.violations == error.violations
        assert seen.retry_after_seconds == 1.5


@pytest.mark.parametrize(
    ("reason", "code", "status", "kind"),
    [
        # The reason goes first: statuses differ between 1.0.0 and 1.0.1 peers.
        ("TASK_NOT_FOUND", -32603, 500, TaskNotFoundError),
        (None, -32001, 500, TaskNotFoundError),
        ("SOMETHING_NEW", -32602, None, InvalidParamsError),
        # Shared reasons and codes.
        ("INVALID_REQUEST", -32700, None, JSONParseError),
        ("INVALID_REQUEST", None, 400, InvalidRequestError),
        ("UNAVAILABLE", -32603, None, UnavailableError),
        (None, -32603, None, InternalError),
        # Neither: the status is all there is.
        (None, None, 404, MethodNotFoundError),
        (None, None, 409, TaskNotCancelableError),
        (None, None, 415, ContentTypeNotSupportedError),
        (None, None, 429, RateLimitedError),
        (None, None, 405, MethodNotAllowedError),
        (None, None, 418, InternalError),
        (None, None, None, InternalError),
    ],
)
def test_an_error_is_known_by_reason_then_code_then_status(
    reason: str | None, code: int | None, status: int | None, kind: type[A2AError]
) -> None:
    found = [{"@type": INFO, "reason": reason}] if reason else None
    assert type(decode_details("x", found, code=code, status=status)) is kind


def test_metadata_that_is_not_text_stays_readable() -> None:
    found = [{"@type": INFO, "metadata": {"errors": [1], "a": "b"}}]
    assert decode_details("x", found).metadata == {"errors": "[1]", "a": "b"}


@pytest.mark.parametrize("delay", ["soon", 5, None, "s"])
def test_a_delay_that_is_none_is_ignored(delay: object) -> None:
    found = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
    assert decode_details("x", found).retry_after_seconds is None


@given(json_values)
def test_any_details_are_survived(found: object) -> None:
    for value in (found, [found], [{"@type": INFO, "metadata": found, "reason": found}]):
        assert isinstance(decode_details("x", value, code=-32602), A2AError)


@given(json_values)
def test_any_violations_are_survived(found: object) -> None:
    listed = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": found}]
    assert isinstance(decode_details("x", listed).violations, tuple)


@given(st.text())
def test_a_message_passes_whatever_it_says(message: str) -> None:
    read = decode_error(msgspec.json.decode(encode_error(InternalError(message))))
    assert read.message == (message or "Internal error")


def test_an_error_of_a_careless_peer_is_still_an_error() -> None:
    assert decode_error({"code": "x", "message": 5}).message == "Internal error"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"error":5}', b'{"error":{"message":5}}']
)
def test_a_body_that_is_no_error_leaves_the_status_to_tell(body: bytes) -> None:
    assert type(decode_http_error(404, body)) is MethodNotFoundError


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.6-1", "R-11.6-2", "R-11.6-6", "R-3.3.2-17")
def test_errors_are_written_as_in_section_4_5() -> None:
    status, body = encode_http_error(TaskNotFoundError("t-9"))
    vector = msgspec.json.decode((VECTORS / "http-task-not-found.json").read_bytes())
    assert status == 404
    assert msgspec.json.decode(body) == vector["wire"]


def test_method_not_allowed_has_the_same_form() -> None:
    _, body = encode_http_error(MethodNotAllowedError(("GET", "POST")))
    error = msgspec.json.decode(body)["error"]
    assert (error["code"], error["status"]) == (405, "UNIMPLEMENTED")
    assert error["details"][0]["metadata"] == {"allow": "GET, POST"}
