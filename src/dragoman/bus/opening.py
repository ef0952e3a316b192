"""Finds the bus that an address names. Each kind is imported only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.bus.base import Bus

__all__ = ("open_bus",)

_POSTGRES: Final = ("postgres", "postgresql")
_NATS: Final = ("nats", "tls")
_KNOWN: Final = "nats://host:4222, tls://host:4222, postgres://user@host/database"


def open_bus(url: str) -> Bus:
    """Return the bus of an address; it still has to be opened.

    Raises UsageError for an address of no known form, and when the library for it is not installed.
    """
    scheme = urlsplit(url).scheme
    if scheme in _POSTGRES:
        return _postgres(url)
    if scheme in _NATS:
        return _nats(url)
    # Not the address itself: there may be a password in it.
    raise UsageError(f"bus: {scheme + '://' if scheme else 'this'} is no bus; known: {_KNOWN}")


def _postgres(url: str) -> Bus:
    try:
        from dragoman.bus.postgres import PostgresBus  # noqa: PLC0415 - only when asked for
    except ModuleNotFoundError as error:
        raise _missing(error, "asyncpg", "postgres") from error
    return PostgresBus(url)


def _nats(url: str) -> Bus:
    try:
        from dragoman.bus.nats.bus import NatsBus  # noqa: PLC0415 - only when asked for
    except ModuleNotFoundError as error:
        raise _missing(error, "nats", "nats") from error
    return NatsBus(url)


def _missing(error: ModuleNotFoundError, library: str, extra: str) -> Exception:
    """Return what to raise: the remedy, or the error itself if it is about something else."""
    if error.name is None or error.name.partition(".")[0] != library:
        return error
    return UsageError(f"bus: {library} is not installed: pip install 'dragoman[{extra}]'")
