"""RFC 3339 timestamps as text, and milliseconds since the epoch as numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

__all__ = ("format_timestamp", "parse_timestamp")

_EXPECTED = "must be an RFC 3339 time such as 2026-01-31T12:00:00.000Z"

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=64)
def format_timestamp(ms: int) -> str:
    """Write a time as RFC 3339 in UTC with milliseconds (R-5.6.1-1, R-5.6.1-2)."""
    return f"{_second(ms // 1000)}.{ms % 1000:03d}Z"


def parse_timestamp(text: str) -> int:
    """Read an RFC 3339 time with 0 to 9 fraction digits as milliseconds, rounded up.

    Offsets other than Z are read too: ProtoJSON allows them on input (reference section 2.1).
    Rounding up keeps "at or after" filters exact, as our own stamps are whole milliseconds.

    Raises:
        ValueError: the text is not such a time.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(_EXPECTED)
    date, clock, fraction, _zulu, sign, hours, minutes = match.groups()
    seconds = int(datetime.fromisoformat(f"{date}T{clock}+00:00").timestamp())
    if sign is not None:
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds -= offset if sign == "+" else -offset
    nanos = int((fraction or "").ljust(9, "0"))
    return seconds * 1000 + -(-nanos // 1_000_000)
