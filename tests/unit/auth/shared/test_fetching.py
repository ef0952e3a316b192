import httpx2
import pytest

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.shared.fetching import Answer, get_json, post_form
from tests.support.auth.answering import Answering, Asked

URL = "https://id.example/keys"


async def test_a_document_is_fetched() -> None:
    server = Answering({"a": 1})
    assert await get_json(server.http, URL) == Answer(200, {"a": 1})
    assert server.asked == [Asked("GET", URL, {}, "")]


async def test_a_form_is_sent_with_its_headers() -> None:
    server = Answering((400, {"error": "x"}))
    form, headers = {"a": "1 2", "b": "&"}, {"Authorization": "Basic x"}
    assert await post_form(server.http, URL, form, headers) == Answer(400, {"error": "x"})
    assert server.asked == [Asked("POST", URL, form, "Basic x")]


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"", b"\xff", b"[" * 100_000])
async def test_what_is_no_json_object_is_empty(body: bytes) -> None:
    server = Answering(httpx2.Response(200, content=body))
    assert await get_json(server.http, URL) == Answer(200, {})


async def test_nothing_is_asked_where_others_can_listen() -> None:
    server = Answering()
    with pytest.raises(AuthorizationServerError, match="only https is safe"):
        await get_json(server.http, "http://id.example/keys")
    assert server.asked == []


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = httpx2.Response(302, headers={"Location": "https://evil.example"})
    server = Answering(elsewhere)
    assert await post_form(server.http, URL, {"a": "b"}, {}) == Answer(302, {})
    assert len(server.asked) == 1


async def test_an_answer_has_a_size_it_must_not_exceed() -> None:
    server = Answering(httpx2.Response(200, content=b" " * 262_144 + b"{}"))
    with pytest.raises(AuthorizationServerError, match="has more than 262144 bytes"):
        await get_json(server.http, URL)


async def test_a_server_that_is_not_there_is_named() -> None:
    server = Answering(httpx2.ConnectError("refused"))
    with pytest.raises(AuthorizationServerError, match=r"id\.example/keys: no answer: refused"):
        await get_json(server.http, URL)


async def test_a_connection_is_made_when_none_is_given() -> None:
    # Port 1 of the loopback: nobody listens there.
    with pytest.raises(AuthorizationServerError, match="no answer"):
        await get_json(None, "http://127.0.0.1:1/keys")
