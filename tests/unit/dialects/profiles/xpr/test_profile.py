import pytest

from dragoman.dialects.profiles.base import Claim
from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT
from dragoman.dialects.profiles.xpr.profile import PROFILE, ServedXpr
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
)
from dragoman.model.operations import Operation
from tests.support.dialects.heads import Head

PREFIXES = ("xpr:", "test/")


def claim(profile: ServedXpr, head: Head, method: str = "message/send") -> Claim:
    return profile.claims(head, method, b"{}", is_known=method in ("message/send", "GetTask"))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (Head("/a2a"), True),
        (Head("/"), False),
        (Head("/api/a2a"), False),
        (Head("/a2a", method="GET"), False),
        (Head("/a2a", a2a_version="1.0"), False),
        (Head("/a2a", a2a_version=""), True),
    ],
)
def test_it_is_spoken_at_one_path_by_requests_without_a_version(
    head: Head, *, expected: bool
) -> None:
    assert ServedXpr(PREFIXES).is_default(head) is expected
    assert (claim(ServedXpr(PREFIXES), head) is Claim.YES) is expected
    assert not ServedXpr().is_default(head)


def test_a_strict_server_speaks_it_only_where_callers_can_sign() -> None:
    signed = Head("/a2a", x_xpr_signature="x")
    assert claim(ServedXpr(is_strict=True), signed) is Claim.NO
    assert claim(ServedXpr(PREFIXES, is_strict=True), signed) is Claim.YES


def test_a_signature_speaks_for_the_network() -> None:
    profile = ServedXpr()
    assert claim(profile, Head("/a2a", x_xpr_account="x")) is Claim.YES
    assert claim(profile, Head("/a2a", x_xpr_signature="x")) is Claim.YES
    assert claim(profile, Head("/a2a")) is Claim.NO
    assert claim(profile, Head("/", x_xpr_account="x")) is Claim.NO


def test_where_callers_sign_a_request_that_shows_nothing_else_is_of_the_network() -> None:
    profile = ServedXpr(PREFIXES)
    assert claim(profile, Head("/a2a")) is Claim.YES
    assert claim(profile, Head("/a2a"), "dance") is Claim.YES
    assert claim(profile, Head("/a2a"), "GetTask") is Claim.NO
    assert claim(profile, Head("/a2a"), "tasks/get") is Claim.ASK_TASK


def test_only_tasks_of_its_own_are_told_by_their_origin() -> None:
    assert ServedXpr().dialect_of("xpr") is XPR_DIALECT
    assert ServedXpr().dialect_of("0.3") is None


def test_it_has_three_methods() -> None:
    found = ServedXpr().find_method("tasks/cancel", Head("/a2a"))
    assert found == (XPR_DIALECT, Operation.CANCEL_TASK, False)
    with pytest.raises(MethodNotFoundError, match="Method not found: message/stream"):
        ServedXpr().find_method("message/stream", Head("/a2a"))


@pytest.mark.parametrize(
    ("refused", "body", "words"),
    [
        (UnsupportedMediaTypeError(), None, "Parse error: missing request body"),
        (JSONParseError(), b" \n", "Parse error: missing request body"),
        (JSONParseError(), b"{", "Invalid JSON payload"),
        # Nested too deeply: refused while it is read.
        (JSONParseError(), None, "Invalid JSON payload"),
        (InvalidRequestError("x"), b"[]", "Invalid request: must be JSON-RPC 2.0 with a method"),
        (InvalidParamsError("x"), b"{}", "x"),
        (PayloadTooLargeError(), None, "Request body too large"),
    ],
)
def test_what_cannot_be_read_is_told_in_its_words(
    refused: A2AError, body: bytes | None, words: str
) -> None:
    assert ServedXpr().reword(refused, body).message == words


@pytest.mark.parametrize(
    ("owner", "account"),
    [("xpr:alice", "alice"), ("test/bob", "bob"), ("key:alice", ""), ("anonymous", "")],
)
def test_who_has_signed_is_told_from_other_owners(owner: str, account: str) -> None:
    assert ServedXpr(PREFIXES).account_of(owner) == account
    assert ServedXpr().account_of(owner) == ""


def test_a_card_with_its_members_shows_that_an_agent_speaks_it() -> None:
    assert PROFILE.called.is_shown_by(("name", "xpr:account"))
    assert not PROFILE.called.is_shown_by(("name", "expr:account"))
