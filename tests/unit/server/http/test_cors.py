"""Which web pages may read the answers."""

from __future__ import annotations

import pytest

from dragoman.errors import UsageError
from dragoman.server.http.cors import Cors, is_preflight

APP = "https://app.example"
ALLOW_ORIGIN = b"access-control-allow-origin"
CREDENTIALS = b"access-control-allow-credentials"


def test_a_page_on_the_list_may_read_the_answers_with_credentials() -> None:
    headers = dict(Cors([APP, "http://localhost:3000"]).headers(APP))
    assert headers[ALLOW_ORIGIN] == APP.encode()
    assert headers[CREDENTIALS] == b"true"
    assert b"retry-after" in headers[b"access-control-expose-headers"]
    assert headers[b"vary"] == b"origin"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://app.example",
        "https://app.example:444",
        "https://app.example.evil.example",
        "https://sub.app.example",
        "https://APP.example",
        "null",
        "",
        "*",
    ],
)
def test_no_other_page_may(origin: str) -> None:
    cors = Cors([APP])
    assert not cors.allows(origin)
    assert cors.headers(origin) == ((b"vary", b"origin"),)


def test_whoever_caches_an_answer_is_told_that_pages_get_another() -> None:
    assert Cors([APP]).headers(None) == ((b"vary", b"origin"),)
    assert Cors(["*"]).headers(None) == ()


@pytest.mark.parametrize("origin", ["https://anybody.example", "null", APP])
def test_every_page_may_read_without_credentials(origin: str) -> None:
    cors = Cors(["*"])
    assert cors.allows(origin)
    headers = dict(cors.headers(origin))
    assert headers[ALLOW_ORIGIN] == b"*"
    assert CREDENTIALS not in headers


def test_beside_all_pages_one_may_be_trusted_with_credentials() -> None:
    cors = Cors(["*", APP])
    assert dict(cors.headers(APP))[CREDENTIALS] == b"true"
    other = dict(cors.headers("https://other.example"))
    assert other[ALLOW_ORIGIN] == b"*"
    assert CREDENTIALS not in other


def test_never_are_all_pages_trusted_with_credentials() -> None:
    for cors in (Cors(["*"]), Cors(["*", APP]), Cors([APP])):
        for origin in (None, APP, "https://other.example", "null", "*", ""):
            headers = dict(cors.headers(origin))
            assert not (headers.get(ALLOW_ORIGIN) == b"*" and CREDENTIALS in headers)


def test_a_permission_allows_the_headers_that_were_asked_for() -> None:
    headers = dict(Cors([APP]).preflight("authorization, x-api-key"))
    assert headers[b"access-control-allow-headers"] == b"authorization, x-api-key"
    assert headers[b"access-control-allow-methods"] == b"GET, HEAD, POST, DELETE"
    assert headers[b"access-control-max-age"] == b"600"


@pytest.mark.parametrize("asked", ["", "a\r\nset-cookie: b", "é", "x" * 1001])
def test_what_are_no_names_of_headers_is_not_repeated(asked: str) -> None:
    assert b"access-control-allow-headers" not in dict(Cors([APP]).preflight(asked))


def test_a_preflight_says_what_it_asks_for() -> None:
    asking = {b"origin": APP, b"access-control-request-method": "POST"}
    assert is_preflight("OPTIONS", asking)
    assert not is_preflight("POST", asking)
    assert not is_preflight("OPTIONS", {b"origin": APP})
    assert not is_preflight("OPTIONS", {b"access-control-request-method": "POST"})


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "app.example",
        "https://app.example/",
        "https://app.example/x",
        "https://u@app.example",
        "https://App.example",
        "https://é.example",
        "https://",
        "null",
        "https://[",
        "https://*.example?",
    ],
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(UsageError, match="is no origin; write it as browsers do"):
        Cors([origin])
