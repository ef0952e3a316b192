import pytest

from dragoman.bindings.jsonrpc import BadEnvelopeError, JsonRpcRequest
from dragoman.dialects.profiles.xpr.recognition import Verdict
from dragoman.errors import (
    A2AError,
    InvalidRequestError,
    JSONParseError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
)
from dragoman.net.asgi import Receive, Send
from dragoman.server.http.exchange import Exchange
from dragoman.server.xpr_place import XprPlace, in_its_words

PREFIXES = ("xpr:", "test/")
SEND = JsonRpcRequest(b"1", "message/send", b"{}")


async def _nothing(*_: object) -> dict[str, object]:
    raise AssertionError("nothing is read or sent")


def exchange(path: str = "/a2a", method: str = "POST", **headers: str) -> Exchange:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    receive: Receive = _nothing
    send: Send = _nothing  # pyright: ignore[reportAssignmentType] - it is not called
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    return Exchange(scope, receive, send)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (exchange(), True),
        (exchange("/a2a/"), True),
        (exchange("/"), False),
        (exchange("/api/a2a"), False),
        (exchange(method="GET"), False),
        (exchange(a2a_version="1.0"), False),
        (exchange(a2a_version=""), True),
    ],
)
def test_the_place_is_one_path_for_requests_without_a_version(
    asked: Exchange, *, expected: bool
) -> None:
    assert XprPlace().is_here(asked) is expected
    assert XprPlace(PREFIXES).is_home_to(asked) is expected
    assert not XprPlace().is_home_to(asked)


def test_a_strict_server_knows_the_network_at_home_alone() -> None:
    assert not XprPlace(is_strict=True).is_here(exchange())
    assert XprPlace(PREFIXES, is_strict=True).is_here(exchange())


@pytest.mark.parametrize("header", ["x_xpr_account", "x_xpr_signature"])
def test_a_signature_speaks_for_the_network(header: str) -> None:
    place = XprPlace()
    assert place.verdict(exchange(**{header: "x"}), SEND) is Verdict.XPR
    assert place.verdict(exchange(), SEND) is Verdict.OTHER
    assert place.verdict(exchange("/", **{header: "x"}), SEND) is Verdict.OTHER


def test_at_home_whoever_says_nothing_else_is_of_the_network() -> None:
    home = XprPlace(PREFIXES)
    assert home.verdict(exchange(), SEND) is Verdict.XPR
    assert home.verdict(exchange(), JsonRpcRequest(b"1", "dance", b"{}")) is Verdict.XPR
    assert home.verdict(exchange(), JsonRpcRequest(b"1", "GetTask", b"{}")) is Verdict.OTHER


@pytest.mark.parametrize(
    ("refused", "body", "words"),
    [
        (UnsupportedMediaTypeError(), b"", "Parse error: missing request body"),
        (BadEnvelopeError(JSONParseError()), b" \n", "Parse error: missing request body"),
        (BadEnvelopeError(JSONParseError()), b"{", "Invalid JSON payload"),
        (
            BadEnvelopeError(InvalidRequestError("x"), b"9", "m"),
            b"[]",
            "Invalid request: must be JSON-RPC 2.0 with a method",
        ),
        (PayloadTooLargeError(), b"", "Request body too large"),
    ],
)
def test_what_cannot_be_read_is_told_in_its_words(
    refused: A2AError | BadEnvelopeError, body: bytes, words: str
) -> None:
    told = in_its_words(refused, body)
    assert str(told) == words
    if isinstance(refused, BadEnvelopeError) and isinstance(told, BadEnvelopeError):
        assert told.id == refused.id


@pytest.mark.parametrize(
    ("owner", "account"),
    [("xpr:alice", "alice"), ("test/bob", "bob"), ("key:alice", ""), ("anonymous", "")],
)
def test_who_has_signed_is_told_from_other_owners(owner: str, account: str) -> None:
    assert XprPlace(PREFIXES).account_of(owner) == account
    assert XprPlace().account_of(owner) == ""
