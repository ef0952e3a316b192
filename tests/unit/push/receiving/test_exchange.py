from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.errors import PayloadTooLargeError, UnsupportedMediaTypeError
from dragoman.push.receiving.exchange import DisconnectedError, Exchange


class Wire:
    """What a server would hand to an application, message by message."""

    def __init__(self, *chunks: bytes, is_cut: bool = False, **headers: str) -> None:
        ends = [{"type": "http.disconnect"}] if is_cut else []
        self._messages: list[MutableMapping[str, Any]] = [
            *({"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks),
            *(ends or [{"type": "http.request"}]),
        ]
        self._headers = [
            (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
        ]

    async def receive(self) -> MutableMapping[str, Any]:
        return self._messages.pop(0)

    async def send(self, message: MutableMapping[str, Any]) -> None:
        raise AssertionError(message)

    def exchange(self, query: bytes = b"") -> Exchange:
        scope = {"method": "POST", "headers": self._headers, "query_string": query}
        return Exchange(scope, self.receive, self.send)

    @property
    def unread(self) -> int:
        return len(self._messages)


async def test_a_body_is_read_to_its_end() -> None:
    wire = Wire(b"ab", b"", b"cd")
    assert await wire.exchange().read_body(4) == b"abcd"
    assert wire.unread == 0


async def test_a_body_beyond_the_limit_is_left_where_it_is() -> None:
    wire = Wire(b"ab", b"cd", b"ef")
    with pytest.raises(PayloadTooLargeError, match="larger than 3 bytes"):
        await wire.exchange().read_body(3)
    assert wire.unread == 2
    told = Wire(b"abcd", content_length="4")
    with pytest.raises(PayloadTooLargeError):
        await told.exchange().read_body(3)
    assert told.unread == 2


async def test_a_sender_that_leaves_is_no_body() -> None:
    with pytest.raises(DisconnectedError):
        await Wire(b"ab", is_cut=True).exchange().read_body(9)


@pytest.mark.parametrize(
    "label",
    ["application/a2a+json", "application/json", "Application/JSON; charset=utf-8", None],
)
def test_json_is_taken_under_either_name(label: str | None) -> None:
    wire = Wire() if label is None else Wire(content_type=label)
    wire.exchange().check_type()


@pytest.mark.parametrize("label", ["text/plain", "", "application/jsonp"])
def test_anything_else_is_refused(label: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=r"application/a2a\+json"):
        Wire(content_type=label).exchange().check_type()


def test_a_query_is_decoded() -> None:
    exchange = Wire().exchange(b"a=x%20y&b=&a=z")
    assert [exchange.query(name) for name in "abc"] == ["x y", "", None]


def test_headers_of_one_name_are_joined() -> None:
    scope = {"method": "POST", "headers": [(b"X-A", b"1"), (b"x-a", b"2")]}
    wire = Wire()
    assert Exchange(scope, wire.receive, wire.send).headers == {"x-a": "1, 2"}
