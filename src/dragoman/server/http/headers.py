"""The headers of a request, by name: those this server looks at, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dragoman.dialects.registry import PROFILE_HEADERS

__all__ = ("AllHeaders", "gather_headers")

_WANTED: Final = frozenset(
    {
        b"a2a-version",
        b"a2a-extensions",
        b"x-a2a-extensions",
        b"accept",
        b"access-control-request-headers",
        b"access-control-request-method",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"forwarded",
        b"host",
        b"if-modified-since",
        b"if-none-match",
        b"last-event-id",
        b"origin",
        b"traceparent",
        b"tracestate",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-prefix",
        b"x-forwarded-proto",
        *PROFILE_HEADERS,
    }
)


def gather_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """Return the wanted headers; several of one name are joined by commas.

    R-3.2.6-1: names compare without case; ASGI hands them over in lower case.
    """
    found: dict[bytes, str] = {}
    for name, value in raw:
        if name in _WANTED:
            text = value.decode("latin-1")
            found[name] = f"{found[name]},{text}" if name in found else text
    return found


class AllHeaders(Mapping[bytes, str]):
    """Every header; for authenticators, which look at what they were told to look at.

    They look at one or two, so each is read when it is asked for. Several of one name are joined as
    above. So two credentials in one header are no credential, and cookies, which HTTP/2 may split
    (RFC 9113, 8.2.3), are one header again.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def get(self, name: bytes, default: Any = None) -> Any:
        """Return a header; unlike the inherited one, this finds nothing without an exception."""
        found = [value for each, value in self._raw if each == name]
        if not found:
            return default
        separator = b"; " if name == b"cookie" else b","
        return separator.join(found).decode("latin-1")

    def __getitem__(self, name: bytes) -> str:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[bytes]:
        return iter(dict.fromkeys(name for name, _ in self._raw))

    def __len__(self) -> int:
        return len({name for name, _ in self._raw})
