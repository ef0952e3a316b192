"""Choosing the protocol version of a request.

A version is the pair Major.Minor (R-3.6-1), compared as two numbers, never as text. Method names,
paths and gRPC services already say whether a request belongs to 1.0 or to the versions before it,
so the version a request states can only agree with that, be a known mistake, or be refused: rows
D1 to D5 of the 0.x reference (section 6.1).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from dragoman.errors import VersionNotSupportedError

__all__ = ("OLD", "SERVED", "V0_1", "V0_3", "V1_0", "Version", "check_version", "parse_version")


class Version(NamedTuple):
    """Major.Minor."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V1_0: Final = Version(1, 0)
V0_1: Final = Version(0, 1)
V0_3: Final = Version(0, 3)

SERVED: Final = (V1_0, V0_3, Version(0, 2), V0_1)
"""The versions with a dialect, newest first."""

OLD: Final = SERVED[1:]
"""Those before 1.0."""

_NEW: Final = (V1_0,)

# Four digits are plenty for a version and keep the numbers small.
_PATTERN: Final = re.compile(r"\s*(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?\s*", re.ASCII)

_MAX_ECHO: Final = 32
"""How much of an unreadable version an error repeats; a version is a few characters long."""


@lru_cache(maxsize=64)
def parse_version(text: str) -> Version | None:
    """Read ``1.0`` or ``1.0.7`` as 1.0 (R-3.6-3: patch numbers play no part); None if neither."""
    match = _PATTERN.fullmatch(text)
    return Version(int(match[1]), int(match[2])) if match else None


def check_version(requested: str | None, *, is_old: bool, is_strict: bool) -> Version | None:
    """Return the version a request states, None where it states none that can be read.

    Args:
        requested: the A2A-Version of the request; None or "" when it has none.
        is_old: the method, path or service is one of the versions before 1.0.
        is_strict: follow the letter of the text, instead of trusting the method name where the
            version is missing, unreadable or known to be sent by mistake.

    Raises:
        VersionNotSupportedError: the version is not served (R-3.2.6-4); it lists what is.
    """
    stated = parse_version(requested) if requested else None
    if is_strict:
        # R-3.6.2-3: an empty or absent version means 0.3, to the letter.
        meant = stated if requested else V0_3
        served = OLD if is_old else _NEW
        if meant not in served:
            raise _refusal(requested or str(V0_3), stated, served)
    elif stated is not None and stated not in SERVED:
        raise _refusal(requested or "", stated, SERVED)
    return stated


def _refusal(
    requested: str, stated: Version | None, served: tuple[Version, ...]
) -> VersionNotSupportedError:
    return VersionNotSupportedError(
        str(stated) if stated else requested[:_MAX_ECHO], tuple(str(offer) for offer in served)
    )
