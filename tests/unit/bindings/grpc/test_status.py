import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.status import decode_error, encode_trailer
from dragoman.bindings.grpc.well_known import Proto
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    FieldViolation,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)


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


@pytest.mark.requirement("R-10.6-1", "R-10.6-2", "R-10.6-3", "R-10.6-4")
def test_the_trailer_is_a_status_with_typed_details() -> None:
    trailer = encode_trailer(example(InvalidParamsError), 3, "what happened")
    status: Proto = message_class("google.rpc.Status").FromString(trailer)
    assert (status.code, status.message) == (3, "what happened")
    assert [detail.type_url for detail in status.details] == [
        "type.googleapis.com/google.rpc.ErrorInfo",
        "type.googleapis.com/google.rpc.BadRequest",
        "type.googleapis.com/google.rpc.RetryInfo",
    ]
    info: Proto = message_class("google.rpc.ErrorInfo").FromString(status.details[0].value)
    assert (info.reason, info.domain) == ("INVALID_PARAMS", "a2a-protocol.org")
    assert dict(info.metadata) == {"taskId": "t"}


@pytest.mark.requirement("R-5.1-3", "R-3.3.2-20")
@pytest.mark.parametrize("kind", SPELLINGS, ids=lambda kind: kind.__name__)
def test_every_error_reads_back(kind: type[A2AError]) -> None:
    code = SPELLINGS[kind].grpc_code
    read = decode_error(code, "what happened", encode_trailer(example(kind), code, "x"))
    # Both have the reason INVALID_REQUEST.
    assert type(read) is (InvalidRequestError if kind is JSONParseError else kind)
    assert read.message == "what happened"
    assert read.metadata == {"taskId": "t"}
    assert read.violations == (FieldViolation("a.b", "is wrong"),)
    assert read.retry_after_seconds == 1.5


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (2, InternalError),
        (3, InvalidParamsError),
        (4, UnavailableError),
        (5, TaskNotFoundError),
        (7, PermissionDeniedError),
        (8, RateLimitedError),
        (9, UnsupportedOperationError),
        (11, PayloadTooLargeError),
        (12, UnsupportedOperationError),
        (13, InternalError),
        (14, UnavailableError),
        (16, UnauthenticatedError),
        (99, InternalError),
    ],
)
@pytest.mark.parametrize("trailer", [None, b"", b"\xff"])
def test_without_details_the_status_tells(
    code: int, kind: type[A2AError], trailer: bytes | None
) -> None:
    read = decode_error(code, "", trailer)
    assert type(read) is kind
    assert read.message == kind.standard_message


def test_the_reason_goes_before_the_status() -> None:
    # A peer of 1.0.0: UNIMPLEMENTED.
    trailer = encode_trailer(example(VersionNotSupportedError), 12, "x")
    assert type(decode_error(12, "x", trailer)) is VersionNotSupportedError


def test_details_of_other_kinds_are_skipped() -> None:
    status: Proto = message_class("google.rpc.Status")()
    status.details.add(type_url="type.googleapis.com/google.rpc.Help", value=b"\xff")
    assert type(decode_error(5, "x", status.SerializeToString())) is TaskNotFoundError


@given(st.binary(max_size=40), st.integers(0, 20), st.text(max_size=5))
def test_whatever_comes_is_an_error(trailer: bytes, code: int, text: str) -> None:
    status: Proto = message_class("google.rpc.Status")()
    status.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=trailer)
    assert isinstance(decode_error(code, text, trailer), A2AError)
    assert isinstance(decode_error(code, text, status.SerializeToString()), A2AError)
