import pytest

from dragoman.egress.headers import encode_headers, is_sendable
from dragoman.errors import UsageError


def test_headers_are_sent_as_latin_1() -> None:
    assert encode_headers({"X-Token": "é b", "X-None": ""}) == [
        (b"X-Token", b"\xe9 b"),
        (b"X-None", b""),
    ]


@pytest.mark.parametrize(
    "value", ["a\r\nX-Evil: 1", "a\nb", "a\0", "日", " a", "a ", "\ta", "a\x7f"]
)
def test_what_would_not_arrive_as_it_is_cannot_be_sent(value: str) -> None:
    assert not is_sendable(value)
    with pytest.raises(UsageError, match="X-Token") as refused:
        encode_headers({"X-Token": value})
    assert value not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\n", "é"])
def test_a_name_must_be_one(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be sent"):
        encode_headers({name: "x"})


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding"])
def test_what_a_request_says_of_itself_is_not_for_others_to_say(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be chosen"):
        encode_headers({name: "x"})
