from __future__ import annotations

import ssl
from collections.abc import Generator
from pathlib import Path

import pytest

from dragoman.otlp.environment import collector_of
from dragoman.otlp.posting import Away, Busy, Outcome, Post, Refused, Taken, outcome_of
from tests.support.collector import Collector
from tests.support.server.certificates import write_files
from tests.support.serving import free_port

NOW_NS = 1_000_000_000_000_000_000
"""Sun, 09 Sep 2001 01:46:40 GMT."""

BODY = b'{"resourceSpans": []}'


@pytest.fixture
def collector() -> Generator[Collector]:
    with Collector() as found:
        yield found


def post_to(collector: Collector, *, timeout_seconds: float = 10.0) -> Post:
    headers = {"authorization": "Bearer t"}
    return Post(collector_of(collector.url), headers, timeout_seconds=timeout_seconds)


@pytest.mark.parametrize(
    ("status", "body", "after", "expected"),
    [
        (200, b"{}", "", Taken()),
        # The answer may be empty, or no JSON.
        (200, b"", "", Taken()),
        (204, b"", "", Taken()),
        (200, b"fine", "", Taken()),
        (200, b'{"partialSuccess":{}}', "", Taken()),
        (
            200,
            b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}',
            "",
            Taken(3, "too old"),
        ),
        (200, b'{"partialSuccess":{"rejectedSpans":3}}', "", Taken(3)),
        (200, b'{"partialSuccess":{"rejectedSpans":"many"}}', "", Taken()),
        (429, b"", "7", Busy("status 429", 7.0)),
        (502, b"", "", Busy("status 502")),
        (503, b"", "Sun, 09 Sep 2001 01:46:45 GMT", Busy("status 503", 5.0)),
        # The date has passed, or is none.
        (503, b"", "Sun, 09 Sep 2001 01:46:35 GMT", Busy("status 503")),
        (504, b"", "soon", Busy("status 504")),
        # All others would be answered in the same way again.
        (400, b"", "5", Refused("status 400")),
        (500, b"", "", Refused("status 500")),
        (307, b"", "", Refused("status 307")),
    ],
)
def test_an_answer_is_understood(status: int, body: bytes, after: str, expected: Outcome) -> None:
    assert outcome_of(status, body, after, now_ns=NOW_NS) == expected


def test_a_request_is_what_a_collector_expects(collector: Collector) -> None:
    post = post_to(collector)
    assert post.send(BODY, now_ns=NOW_NS) == Taken()
    assert collector.bodies == [{"resourceSpans": []}]
    assert collector.paths == ["/v1/traces"]
    assert collector.headers[0]["Content-Type"] == "application/json"
    assert collector.headers[0]["authorization"] == "Bearer t"
    post.close()


def test_a_connection_that_was_closed_meanwhile_is_made_anew(collector: Collector) -> None:
    collector.hangs_up = True
    post = post_to(collector)
    for _ in range(3):
        assert post.send(BODY, now_ns=NOW_NS) == Taken()
    assert len(collector.bodies) == 3
    post.close()


def test_what_a_busy_collector_asks_for_is_heard(collector: Collector) -> None:
    collector.answers = [(503, {"Retry-After": "9"}, b"later")]
    post = post_to(collector)
    assert post.send(BODY, now_ns=NOW_NS) == Busy("status 503", 9.0)
    assert post.send(BODY, now_ns=NOW_NS) == Taken()
    post.close()


def test_an_answer_that_is_too_long_is_not_read_to_its_end(collector: Collector) -> None:
    collector.usual = (200, {}, b"x" * 1_000_000)
    post = post_to(collector)
    assert post.send(BODY, now_ns=NOW_NS) == Taken()
    assert post.send(BODY, now_ns=NOW_NS) == Taken()
    post.close()


def test_a_collector_that_does_not_answer_is_given_up(collector: Collector) -> None:
    collector.is_held = True
    post = post_to(collector, timeout_seconds=0.05)
    outcome = post.send(BODY, now_ns=NOW_NS)
    assert isinstance(outcome, Busy)
    assert "timed out" in outcome.reason
    post.close()


def test_where_nobody_listens_the_collector_is_away() -> None:
    post = Post(collector_of(f"http://127.0.0.1:{free_port()}"), {})
    outcome = post.send(BODY, now_ns=NOW_NS)
    assert isinstance(outcome, Away)
    assert "ConnectionRefusedError" in outcome.reason


def test_a_collector_may_speak_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_files(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.server, files.server_key)
    with Collector(tls) as collector:
        stranger = post_to(collector)
        outcome = stranger.send(BODY, now_ns=NOW_NS)
        assert isinstance(outcome, Away)
        assert "CERTIFICATE_VERIFY_FAILED" in outcome.reason
        monkeypatch.setenv("SSL_CERT_FILE", files.ca)
        post = post_to(collector)
        assert post.send(BODY, now_ns=NOW_NS) == Taken()
        post.close()
    assert len(collector.bodies) == 1


def test_a_collector_that_speaks_no_tls_is_away(collector: Collector) -> None:
    post = Post(collector_of(collector.url.replace("http:", "https:")), {}, timeout_seconds=5)
    outcome = post.send(BODY, now_ns=NOW_NS)
    assert isinstance(outcome, Away)
    assert "SSL" in outcome.reason
