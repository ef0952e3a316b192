from collections.abc import AsyncIterator

import pytest

from dragoman.conformance import http_answers
from dragoman.conformance.http_answers import json_of, read_all, read_events
from dragoman.conformance.lines import HttpReply, NoAnswerError


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def events(*parts: bytes) -> list[bytes]:
    return [event async for event in read_events(chunks(*parts))]


async def test_events_are_cut_anywhere() -> None:
    stream = b": hello\r\n\r\nid: 1\ndata: one\n\ndata: two\r\ndata:three\r\n\r\nevent: x\n\n"
    expected = [b"one", b"two\nthree"]
    assert await events(stream) == expected
    assert await events(*(stream[place : place + 1] for place in range(len(stream)))) == expected


async def test_an_event_without_its_end_is_none() -> None:
    assert await events(b"data: half\n") == []


async def test_what_is_too_large_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answers, "MAX_BYTES", 10)
    with pytest.raises(NoAnswerError, match="more than 10 bytes"):
        await events(b"data: " + b"x" * 20)
    with pytest.raises(NoAnswerError, match="more than 10 bytes"):
        await events(*[b"data: xxxx\n"] * 5)
    with pytest.raises(NoAnswerError, match="more than 10 bytes"):
        await read_all(HttpReply(200, {}, chunks(b"x" * 11)))


async def test_a_body_is_read_whole() -> None:
    assert await read_all(HttpReply(200, {}, chunks(b"a", b"b"))) == b"ab"


def test_what_is_no_json_is_told_with_its_beginning() -> None:
    assert json_of(b'{"a": 1}') == ({"a": 1}, ())
    assert json_of(b"<h1>") == (None, ("the body is not JSON: '<h1>'",))
    assert json_of(b"\xff") == (None, ("the body is not JSON: '\ufffd'",))
