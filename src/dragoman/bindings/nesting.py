"""How deep JSON is nested, told from its bytes before anything is decoded."""

from __future__ import annotations

import re
from typing import Final

__all__ = ("is_nested_deeper_than",)

_STRING: Final = re.compile(rb'"[^"]*"?')
_IDLE: Final = bytes(set(range(256)) - set(b'[]{}"'))


def is_nested_deeper_than(limit: int, body: bytes) -> bool:
    """Tell whether arrays and objects stand in each other more than ``limit`` deep.

    Most bodies do not even hold that many brackets; in the others they are counted one by one, so
    the cost grows with the body and with nothing else. Malformed JSON may give either answer: the
    decoder says what is wrong with it.
    """
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    # First all that can be dropped in one sweep: escapes, letters, strings without a bracket.
    shape = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, delete=_IDLE)
    brackets = _STRING.sub(b"", shape.replace(b'""', b""))
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > limit:
            return True
    return False
