import json
import logging

import pytest

from dragoman.auth.incoming.authenticator import BadCredentialsError, refused
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnknownTenantError,
)
from dragoman.server.admission import audit


@pytest.fixture(autouse=True)
def level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="dragoman.audit")


def test_a_call_that_was_performed_is_a_line_for_those_who_look_closely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    audit.accepted("ada", "GetTask", "acme")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("dragoman.audit", logging.DEBUG)
    entry = {"outcome": "accepted", "who": "ada", "operation": "GetTask", "tenant": "acme"}
    assert json.loads(record.getMessage()) == entry
    assert record.__dict__["audit"] == entry


@pytest.mark.parametrize(
    "error",
    [
        UnauthenticatedError(),
        PermissionDeniedError(),
        RateLimitedError(),
        UnknownTenantError(),
        TaskNotFoundError("t-1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_is_a_line_for_everybody(
    caplog: pytest.LogCaptureFixture, error: A2AError
) -> None:
    audit.refused("ada", "GetTask", "", error)
    (record,) = caplog.records
    entry = record.__dict__["audit"]
    assert (record.levelno, entry["outcome"]) == (logging.INFO, "refused")
    assert entry["detail"] == error.message


def test_a_call_that_failed_otherwise_is_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    audit.refused("ada", "SendMessage", "", InvalidParamsError.of("message", "is required"))
    (record,) = caplog.records
    entry = record.__dict__["audit"]
    assert (record.levelno, entry["outcome"], entry["why"]) == (
        logging.DEBUG,
        "failed",
        "INVALID_PARAMS",
    )


def test_the_log_knows_more_than_the_peer_of_bad_credentials(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = refused(BadCredentialsError("the token has expired"))
    audit.turned_away("192.0.2.1", error)
    assert caplog.records[0].__dict__["audit"] == {
        "outcome": "refused",
        "who": "",
        "peer": "192.0.2.1",
        "why": "UNAUTHENTICATED",
        "detail": "the token has expired",
    }
    assert "expired" not in error.message


def test_a_caller_without_an_address_and_a_plain_refusal_are_told_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    audit.turned_away(None, PermissionDeniedError("Not here"))
    entry = caplog.records[0].__dict__["audit"]
    assert (entry["peer"], entry["detail"]) == ("", "Not here")


def test_nobody_writes_lines_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    audit.refused("ada\n{}", "GetTask", "x\r\noutcome=accepted" * 100, UnknownTenantError())
    line = caplog.records[0].getMessage()
    assert len(line.splitlines()) == 1
    assert len(json.loads(line)["tenant"]) == 200


def test_lines_nobody_wants_are_not_made(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="dragoman.audit")
    audit.accepted("ada", "GetTask", "")
    audit.refused("ada", "GetTask", "", PermissionDeniedError())
    audit.turned_away(None, UnauthenticatedError())
    assert caplog.records == []
