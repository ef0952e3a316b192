"""Answers over HTTP/1.1, read as they came and judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.fuzz.guard.talks import HeardWrongError, Talk

__all__ = ("judge",)


class _Answer(NamedTuple):
    """One answer; one that is cut short is not complete."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_complete: bool


def judge(talk: Talk, raw: bytes, *, is_whole: bool) -> list[str]:
    """Return what the answers came to.

    Args:
        is_whole: all of it was sent, and in time, so that there must be answers.

    Raises:
        HeardWrongError: one of them is the server's own fault, or one is missing or too many.
    """
    answers = list(_answers(raw, talk.asked))
    outcomes = [_outcome(answer) for answer in answers]
    if is_whole:
        if not answers:
            raise HeardWrongError("no answer")
        if len(answers) > len(talk.asked):
            raise HeardWrongError(f"{len(answers)} answers to {len(talk.asked)} requests")
        last = answers[-1]
        if len(answers) < len(talk.asked) and last.headers.get("connection") != "close":
            raise HeardWrongError(f"{len(answers)} answers to {len(talk.asked)} requests")
        if not last.is_complete:
            raise HeardWrongError("an answer is cut short")
    return outcomes


def _answers(raw: bytes, methods: Sequence[str | int]) -> Iterator[_Answer]:
    asked = iter(methods)
    while raw:
        head, separator, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        if not separator or not first.startswith("HTTP/1.1 "):
            raise HeardWrongError(f"this is no answer: {raw[:200]!r}")
        status = int(first.split(" ")[1])
        if status == 100:
            raw = rest
            continue
        pairs = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in pairs}
        if next(asked, "") == "HEAD" or status in (204, 304):
            yield _Answer(status, headers, b"", is_complete=True)
            # A head that is refused as such may not tell what was asked; then all is over anyway.
            raw = b"" if headers.get("connection") == "close" else rest
        elif headers.get("transfer-encoding") == "chunked":
            body, raw, is_complete = _unchunked(rest)
            yield _Answer(status, headers, body, is_complete)
        else:
            length = int(headers["content-length"])
            yield _Answer(status, headers, rest[:length], is_complete=len(rest) >= length)
            raw = rest[length:]


def _unchunked(raw: bytes) -> tuple[bytes, bytes, bool]:
    """Return a body in chunks as a whole, what follows it, and whether it has its end."""
    body = b""
    while True:
        size, separator, rest = raw.partition(b"\r\n")
        if not separator:
            return body, b"", False
        length = int(size, 16)
        body += rest[:length]
        raw = rest[length + 2 :]
        if not length:
            return body, raw, True


def _outcome(answer: _Answer) -> str:
    """Tell what an answer says, in a word."""
    status, body = answer.status, answer.body
    # 0.3 says 501 of what is not offered.
    if not (200 <= status < 500 or status == 501) or b'"code":-32603' in body:
        raise HeardWrongError(f"our own fault: {status} {body[:1000]!r}")
    if answer.is_complete and body and "json" in answer.headers.get("content-type", ""):
        json.loads(body)
    known = {401: "unauthenticated", 403: "denied", 408: "too slow", 413: "too large"}
    known |= {429: "limited", 431: "too large"}
    if status in known:
        return known[status]
    return "refused" if status >= 400 or b'"error":' in body else "served"
