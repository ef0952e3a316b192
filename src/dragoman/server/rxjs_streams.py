"""Streams of the RxJS profile: what they have beside the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dragoman.bindings import sse
from dragoman.dialects.profiles.rxjs.codec import Rxjs
from dragoman.model.documents import EventDocument
from dragoman.net.asgi import Header
from dragoman.server.http.exchange import Renders

__all__ = ("RxjsRenderer", "stream_headers")

_HEARTBEAT: Final = b": keep-alive\n\n"


def stream_headers(*, is_http1: bool) -> tuple[Header, ...]:
    """Return the headers of a stream; the last belongs to a connection of HTTP/1 alone."""
    headers: tuple[Header, ...] = ((b"cache-control", b"no-cache"),)
    return (*headers, (b"connection", b"keep-alive")) if is_http1 else headers


class RxjsRenderer:
    """Writes a stream, and behind the end of a task what it has failed for."""

    def __init__(self, inner: Renders, dialect: Rxjs, wrap: Callable[[bytes], bytes]) -> None:
        """Write as ``inner`` does; ``wrap`` puts an error into the envelope of the stream."""
        self._inner = inner
        self._dialect = dialect
        self._wrap = wrap

    @property
    def has_ended(self) -> bool:
        """Tell whether the reader was told that nothing more comes."""
        return self._inner.has_ended

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        """Write events that became ready together; none at all is a heartbeat."""
        if not events:
            return _HEARTBEAT
        body = self._inner.batch(events)
        if not self.has_ended:
            return body
        error = self._dialect.last_error(events[-1].value)
        return body + sse.frame(self._wrap(error)) if error else body

    def failure(self, problem: Exception) -> bytes:
        """Write what has ended the stream."""
        return self._inner.failure(problem)
