"""One request to a collector over a connection that is kept, and what came of it.

By the standard library alone: a request every second needs nothing faster, and instruments that
make spans of requests do not see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.otlp.environment import Collector

__all__ = ("Away", "Busy", "Outcome", "Post", "Refused", "Taken", "outcome_of")

_TIMEOUT_SECONDS: Final = 10.0
"""As OTLP's exporters have it by default."""

_MOST_ANSWER_BYTES: Final = 64 * 1024
"""What is read of an answer: it says next to nothing."""

_TRANSIENT: Final = frozenset({429, 502, 503, 504})
"""The statuses after which OTLP lets a request be sent again; all others would come again."""


class Taken(Struct, frozen=True):
    """The collector has the spans.

    Attributes:
        rejected: how many of them it did not like after all.
    """

    rejected: int = 0
    reason: str = ""


class Busy(Struct, frozen=True):
    """It may be worth while to send them again.

    Attributes:
        after_seconds: how long the collector asks us to wait; 0 if it does not say.
        is_cut: whether the connection was lost on the way.
    """

    reason: str
    after_seconds: float = 0.0
    is_cut: bool = False


class Away(Struct, frozen=True):
    """Nobody listens there: the request was not even begun."""

    reason: str


class Refused(Struct, frozen=True):
    """It would not be any different the next time."""

    reason: str


Outcome: TypeAlias = Taken | Busy | Away | Refused


class _Partial(Struct, rename="camel", frozen=True):
    # A 64-bit number, and so a string; not every collector knows.
    rejected_spans: int | str = 0
    error_message: str = ""


class _Answer(Struct, rename="camel", frozen=True):
    partial_success: _Partial = _Partial()


class Post:
    """Requests to one collector, one after the other. For one thread alone."""

    def __init__(
        self,
        collector: Collector,
        headers: Mapping[str, str],
        *,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        kind = HTTPSConnection if collector.is_secure else HTTPConnection
        self._connection = kind(collector.host, collector.port, timeout=timeout_seconds)
        self._path = collector.path
        self._headers = {"Content-Type": "application/json", "User-Agent": "dragoman", **headers}

    def send(self, body: bytes, *, now_ns: int) -> Outcome:
        """Send a request and return what came of it; raises nothing."""
        is_kept = self._connection.sock is not None
        outcome = self._try(body, now_ns)
        if is_kept and isinstance(outcome, Busy) and outcome.is_cut:
            # Collectors close connections that idle; that is no failure of theirs.
            outcome = self._try(body, now_ns)
        return outcome

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _try(self, body: bytes, now_ns: int) -> Outcome:
        connection = self._connection
        try:
            if connection.sock is None:
                connection.connect()
        except OSError as error:
            connection.close()
            return Away(_told(error))
        try:
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            text = response.read(_MOST_ANSWER_BYTES)
            if not response.isclosed():
                connection.close()
        except (OSError, HTTPException) as error:
            connection.close()
            return Busy(_told(error), is_cut=isinstance(error, ConnectionError))
        after = response.getheader("Retry-After") or ""
        return outcome_of(response.status, text, after, now_ns=now_ns)


def outcome_of(status: int, body: bytes, retry_after: str, *, now_ns: int) -> Outcome:
    """Tell what an answer means.

    Args:
        retry_after: the header of that name, "" if there is none: seconds, or a date.
    """
    if status in _TRANSIENT:
        return Busy(f"status {status}", _asked_seconds(retry_after, now_ns))
    if not 200 <= status < 300:
        return Refused(f"status {status}")
    try:
        partial = msgspec.json.decode(body, type=_Answer).partial_success
        return Taken(max(0, int(partial.rejected_spans)), partial.error_message[:200])
    except ValueError:
        # Nothing, or no JSON: the status says it.
        return Taken()


def _asked_seconds(retry_after: str, now_ns: int) -> float:
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now_ns / 1e9)
    except ValueError:
        return 0.0


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
