import pytest

from dragoman.client.errors import ProtocolError
from dragoman.client.transports.base import error_of_status, number_of, reading, version_headers
from dragoman.dialects.negotiation import Version
from dragoman.errors import (
    A2AError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    MethodNotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
)


@pytest.mark.requirement("R-3.6.1-1", "R-14.2.1-1", "R-3.2.6-3", "R-9.2-4", "R-11.2-4")
def test_version_and_extensions_are_told_in_one_field_each() -> None:
    assert version_headers(Version(1, 0), ("urn:a", "urn:b")) == {
        "A2A-Version": "1.0",
        "A2A-Extensions": "urn:a,urn:b",
    }


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        (Version(0, 3), {"A2A-Version": "0.3"}),
        # They know no such header.
        (Version(0, 2), {}),
        (Version(0, 1), {}),
    ],
)
def test_older_versions_are_told_what_they_know(version: Version, headers: dict[str, str]) -> None:
    assert version_headers(version, ()) == headers
    both = {"A2A-Extensions": "urn:a", "X-A2A-Extensions": "urn:a"}
    assert version_headers(version, ("urn:a",)) == headers | both


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, UnauthenticatedError),
        (403, PermissionDeniedError),
        (404, MethodNotFoundError),
        (429, RateLimitedError),
        (500, InternalError),
        # A proxy before an agent that is away.
        (502, UnavailableError),
        (503, UnavailableError),
        (504, UnavailableError),
    ],
)
def test_a_status_tells_what_it_can(status: int, kind: type[A2AError]) -> None:
    problem = error_of_status(status, b"<html>", "http://a")
    assert type(problem) is kind
    assert str(status) in str(problem)


def test_a_status_of_success_tells_nothing() -> None:
    assert isinstance(error_of_status(200, b"<html>", "http://a"), ProtocolError)
    assert isinstance(error_of_status(302, b"", "http://a"), ProtocolError)


@pytest.mark.parametrize(
    "problem", [InvalidParamsError.of("x", "is odd"), InvalidAgentResponseError("is odd")]
)
def test_what_a_decoder_refuses_is_the_mistake_of_the_peer(problem: A2AError) -> None:
    with pytest.raises(ProtocolError, match=r"http://a does not answer in A2A: .*is odd"):  # noqa: SIM117 - one raises, the other turns it
        with reading("http://a"):
            raise problem


def test_what_the_peer_says_itself_stands() -> None:
    with pytest.raises(TaskNotFoundError), reading("http://a"):
        raise TaskNotFoundError("t")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("0", 0), ("", 0), ("-1", 0), ("1e3", 0), ("9" * 18, 10**18 - 1), ("9" * 19, 0)],
)
def test_what_a_peer_has_counted_is_a_number_or_nothing(text: str, number: int) -> None:
    assert number_of(text) == number
