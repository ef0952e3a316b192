"""File content in the protobuf forms of 0.3: raw, or as base64 text inside the bytes.

The proto says raw bytes. The Python, Java and Go SDKs put the base64 text of the content there, the
JavaScript SDK the content itself, and nothing on the wire tells which (0.x reference, 4.4). A peer
that is known can be pinned to one habit; otherwise the bytes are looked at (0.x reference, 5.7).
Who sends raw content gets raw content back.

A client has to write before it has read anything. Servers made with the JavaScript SDK run on
Express, which says so in each of its answers, the card included.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64encode
from typing import Final, Literal, TypeAlias

__all__ = ("FileBytes", "is_raw", "likely_habit", "read_file_bytes", "write_file_bytes")

FileBytes: TypeAlias = Literal["raw", "base64text"]
"""A peer's habit."""

# Shorter bytes may be base64 by chance, as "Rome" is.
_LONG_ENOUGH: Final = 64
_TEXTUAL_SUBTYPES: Final = ("json", "xml")
# Tab, line feed, form feed and carriage return occur in texts; the other controls do not.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def read_file_bytes(data: bytes, media_type: str, *, pinned: FileBytes | None = None) -> bytes:
    """Return the content of a file.

    Args:
        media_type: as the peer gave it, "" if it gave none.
        pinned: the peer's habit; bytes that are not base64 text are the content all the same.
    """
    if pinned == "raw":
        return data
    decoded = _decode_base64(data)
    if decoded is None:
        return data
    if pinned == "base64text" or _is_decoded_once_more(data, media_type, decoded):
        return decoded
    return data


def is_raw(data: bytes) -> bool:
    """Tell whether bytes that a peer has sent can only be the content, not being base64 text."""
    return _decode_base64(data) is None


def likely_habit(powered_by: str) -> FileBytes | None:
    """Guess the habit of a server by what its answers name in ``X-Powered-By``."""
    return "raw" if powered_by.strip().lower() == "express" else None


def write_file_bytes(content: bytes, *, pinned: FileBytes | None = None) -> bytes:
    """Return the bytes to send: base64 text, which most peers expect, unless pinned to ``raw``."""
    return content if pinned == "raw" else b64encode(content)


def _decode_base64(data: bytes) -> bytes | None:
    """Decode text in the standard alphabet, padded; None if it is anything else."""
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except binascii.Error:
        return None
    # The decoder lets stray last bits pass; no encoder writes them.
    return decoded if b64encode(decoded) == data else None


def _is_decoded_once_more(data: bytes, media_type: str, decoded: bytes) -> bool:
    if not media_type:
        return len(data) >= _LONG_ENOUGH or _is_text(decoded)
    return not _is_textual(media_type) or _is_text(decoded)


def _is_textual(media_type: str) -> bool:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind == "text" or subtype.rpartition("+")[2] in _TEXTUAL_SUBTYPES


def _is_text(content: bytes) -> bool:
    try:
        return _CONTROL.search(content.decode()) is None
    except UnicodeDecodeError:
        return False
