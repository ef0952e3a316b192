import gzip
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from dragoman import connect
from dragoman.testing.recorder import RecordingTransport, recording
from dragoman.testing.serving import served
from dragoman.testing.wire import Wire
from tests.support.testing.house import tea_house

URL = "http://agent.localhost"


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in pieces; ``before_next`` is called before each but the first."""

    def __init__(self, *pieces: bytes, before_next: Callable[[], None] = lambda: None) -> None:
        self._pieces = pieces
        self._before_next = before_next

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for index, piece in enumerate(self._pieces):
            if index:
                self._before_next()
            yield piece


def answering(wire: Wire, stream: Pieces, status: int = 200, **headers: str) -> httpx2.AsyncClient:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(status, headers=named, stream=stream))
    return httpx2.AsyncClient(transport=RecordingTransport(inner, wire))


async def test_a_request_and_its_answer_are_written_down() -> None:
    wire = Wire()
    async with answering(
        wire, Pieces(b'{"b"', b":2}"), 201, content_type="application/json"
    ) as client:
        answer = await client.post(f"{URL}/x?pageSize=2", json={"a": 1})
    assert answer.json() == {"b": 2}
    (exchange,) = wire.exchanges
    assert (exchange.request.method, exchange.request.path) == ("POST", "/x?pageSize=2")
    assert exchange.request.body == {"a": 1}
    assert exchange.response is not None
    assert (exchange.response.status, exchange.response.body) == (201, {"b": 2})
    assert exchange.response.headers["content-type"] == "application/json"


async def test_credentials_are_not_written_down() -> None:
    wire = Wire()
    async with answering(wire, Pieces(), set_cookie="s3cret") as client:
        await client.get(
            f"{URL}/?key=s3cret",
            headers={"Authorization": "Bearer s3cret", "X-Key": "s3cret", "A2A-Version": "1.0"},
        )
    (exchange,) = wire.exchanges
    assert "s3cret" not in repr(exchange)
    assert exchange.request.headers["authorization"] == "<redacted>"
    assert exchange.request.headers["a2a-version"] == "1.0"


async def test_text_that_is_no_json_is_written_down_as_it_is() -> None:
    wire = Wire()
    async with answering(wire, Pieces(b"<html>"), 502) as client:
        await client.get(URL)
    (exchange,) = wire.exchanges
    assert exchange.request.body is None
    assert exchange.response is not None
    assert exchange.response.body == "<html>"


async def test_a_compressed_body_is_written_down_in_the_clear() -> None:
    wire = Wire()
    stream = Pieces(gzip.compress(b'{"b":2}'))
    async with answering(wire, stream, content_encoding="gzip") as client:
        assert (await client.get(URL)).json() == {"b": 2}
    wire.assert_received({"b": 2})


async def test_the_frames_of_a_stream_are_written_down_as_they_come() -> None:
    wire = Wire()
    known: list[object] = []
    stream = Pieces(
        b'id: 1\ndata: {"a":1}\n\nda',
        b'ta: {"a":2}\n\n:\n\n',
        before_next=lambda: known.extend(wire.frames()),
    )
    async with answering(wire, stream, content_type="text/event-stream") as client:
        await client.get(URL)
    assert known == [{"a": 1}]
    assert wire.frames() == [{"a": 1}, {"a": 2}]


async def test_a_request_without_an_answer_is_on_the_wire() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("nobody there", request=request)

    wire = Wire()
    transport = RecordingTransport(httpx2.MockTransport(refuse), wire)
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(URL)
    assert [exchange.response for exchange in wire.exchanges] == [None]


async def test_what_is_said_to_a_real_agent_is_recorded() -> None:
    wire = Wire()
    async with (
        served(tea_house()) as place,
        recording(wire) as http,
        connect(place.url, http=http, binding="HTTP+JSON") as agent,
    ):
        assert (await agent.send("mint")).text == "mint"
    wire.assert_sent({"message": {"parts": [{"text": "mint"}]}}, path="/message:stream")
    wire.assert_received({"artifactUpdate": {"artifact": {"parts": [{"text": "mint"}]}}})
