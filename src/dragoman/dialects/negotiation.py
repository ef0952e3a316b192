"""Version: the pair Major.Minor (R-3.6-1), compared as two numbers, never as text.

Which versions there are, and which one a request is of, is for ``registry`` to say.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ("V0_1", "V0_3", "V1_0", "Version", "parse_version")


class Version(NamedTuple):
    """Major.Minor."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V1_0: Final = Version(1, 0)
V0_1: Final = Version(0, 1)
V0_3: Final = Version(0, 3)

# Four digits are plenty for a version and keep the numbers small.
_PATTERN: Final = re.compile(r"\s*(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?\s*", re.ASCII)


@lru_cache(maxsize=64)
def parse_version(text: str) -> Version | None:
    """Read ``1.0`` or ``1.0.7`` as 1.0 (R-3.6-3: patch numbers play no part); None if neither."""
    match = _PATTERN.fullmatch(text)
    return Version(int(match[1]), int(match[2])) if match else None
