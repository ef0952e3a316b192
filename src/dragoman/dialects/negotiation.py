"""Choosing the protocol version of a request.

A version is the pair Major.Minor (R-3.6-1), compared as two numbers, never as text. By the time one
is chosen the method name or route has already said which family the request belongs to, so the rows
D1 and D3 to D5 of the 0.x reference (section 6.1) are all that is left to decide here.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dragoman.errors import VersionNotSupportedError

__all__ = ("SERVED", "UNSTATED", "Version", "choose", "parse_version")


class Version(NamedTuple):
    """Major.Minor."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V1_0: Final = Version(1, 0)
V0_3: Final = Version(0, 3)
V0_2: Final = Version(0, 2)

SERVED: Final = (V1_0,)
"""The versions with a dialect, newest first."""

UNSTATED: Final = V0_3
"""R-3.6.2-3: what an empty or absent version value means, to the letter."""

# D3 and D4: the specification's own 1.0 examples carry the header of 0.3, and 0.2 is read as 0.3.
_MEANT: Final = {V0_3: V1_0, V0_2: V1_0}

# Four digits are plenty for a version and keep the numbers small.
_PATTERN: Final = re.compile(r"\s*(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?\s*", re.ASCII)

_MAX_ECHO: Final = 32
"""How much of an unreadable version an error repeats; a version is a few characters long."""


def parse_version(text: str) -> Version | None:
    """Read ``1.0`` or ``1.0.7`` as 1.0 (R-3.6-3: patch numbers play no part); None if neither."""
    match = _PATTERN.fullmatch(text)
    return Version(int(match[1]), int(match[2])) if match else None


def choose(requested: str | None, *, is_strict: bool, served: tuple[Version, ...] = SERVED) -> str:
    """Return the version in which to answer a request for a 1.0 method or route.

    Args:
        requested: the A2A-Version of the request; None or "" when it has none.
        is_strict: follow the letter of the text, instead of trusting the method name where the
            version is missing, unreadable or known to be sent by mistake.
        served: the versions on offer, preferred one first.

    Raises:
        VersionNotSupportedError: the version is not served (R-3.2.6-4); it lists what is.
    """
    version = parse_version(requested) if requested else UNSTATED
    if version in served:
        return str(version)
    if not is_strict:
        if version is None or not requested:
            return str(served[0])
        meant = _MEANT.get(version)
        if meant in served:
            return str(meant)
    raise VersionNotSupportedError(
        str(version) if version else (requested or "")[:_MAX_ECHO],
        tuple(str(offer) for offer in served),
    )
