"""Failures as the journal has them: what is raised again is what was raised."""

import msgspec
import pytest

from dragoman.agent.children import Failure
from dragoman.auth.outgoing.errors import (
    AuthorizationServerError,
    MissingCredentialsError,
    TokenRefusedError,
)
from dragoman.client.errors import (
    CardInvalidError,
    CardNotFoundError,
    CardUntrustedError,
    CutError,
    NoInterfaceError,
    ProtocolError,
    TimedOutError,
    UnreachableError,
)
from dragoman.errors import (
    A2AError,
    DragomanError,
    InvalidParamsError,
    MethodNotAllowedError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnknownTenantError,
    VersionNotSupportedError,
)
from dragoman.server.tasks.watcher import TaskLostError


def read_again(problem: DragomanError) -> DragomanError:
    """Return what a turn that is run again raises."""
    recorded = msgspec.json.encode(Failure.of(problem))
    return msgspec.json.decode(recorded, type=Failure).error()


@pytest.mark.parametrize(
    "problem",
    [
        A2AError("no"),
        TaskNotFoundError("t-1"),
        TaskNotCancelableError("t-1", "TASK_STATE_COMPLETED"),
        InvalidParamsError.of("city", "is missing"),
        UnknownTenantError(),
        VersionNotSupportedError("0.9", ("1.0", "0.3")),
        MethodNotAllowedError(("GET", "HEAD")),
        UnavailableError("busy", retry_after_seconds=2.5),
        RateLimitedError(retry_after_seconds=3, metadata={"limit": "60"}),
        UnauthenticatedError("who?", challenges=("Bearer", "Basic")),
        PermissionDeniedError.for_want_of(["book", "pay"], "find"),
        TimedOutError("Other was not done in the time it was given"),
        UnreachableError("http://other", "refused"),
        CutError("http://other", "reset", task_id="t-1"),
        ProtocolError("http://other", "it sings"),
        CardNotFoundError((("http://other/a", "404"), ("http://other/b", "500"))),
        CardInvalidError("http://other", "it has no name"),
        CardUntrustedError("http://other", "nobody has signed it", is_signed=False),
        NoInterfaceError(("SOAP 1.2",), "1.0"),
        MissingCredentialsError(("a key", "a token")),
        TokenRefusedError("http://issuer", "invalid_client"),
        AuthorizationServerError("http://issuer", "it is silent"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_an_error_is_the_same_again(problem: DragomanError) -> None:
    again = read_again(problem)
    assert type(again) is type(problem)
    assert str(again) == str(problem)
    assert vars(again) == vars(problem)


def test_an_error_that_is_not_ours_is_the_nearest_that_is() -> None:
    again = read_again(TaskLostError())
    assert type(again) is UnavailableError
    assert str(again) == str(TaskLostError())


class OddError(A2AError):
    """An error of somebody's own, with something in it that nobody can record."""

    def __init__(self) -> None:
        super().__init__("odd")
        self.code = "o-1"
        self.socket = object()
        self.add_note("noted")


def test_what_cannot_be_recorded_of_an_error_is_left_out() -> None:
    again = read_again(OddError())
    assert type(again) is A2AError
    assert vars(again) == {**vars(A2AError("odd")), "code": "o-1"}


def test_an_error_that_this_version_does_not_know_is_one_of_calls() -> None:
    again = Failure("UnheardOfError", "oh").error()
    assert str(again) == "oh"
    assert isinstance(again, DragomanError)
