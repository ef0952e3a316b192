"""Media types of HTTP bodies: what is read, and what is answered in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.errors import UnsupportedMediaTypeError

__all__ = (
    "A2A_JSON",
    "EVENT_STREAM",
    "JSON",
    "check_is_json",
    "check_is_plain",
    "rest_content_type",
)

JSON: Final = b"application/json"
A2A_JSON: Final = b"application/a2a+json"
EVENT_STREAM: Final = b"text/event-stream"

_READ: Final = frozenset({JSON.decode(), A2A_JSON.decode()})


def check_is_json(headers: Mapping[bytes, str]) -> None:
    """Refuse a body labelled as something else; parameters and a missing label do not matter."""
    label = headers.get(b"content-type")
    if label is None or label == "application/json":
        return
    if _bare(label) not in _READ:
        raise UnsupportedMediaTypeError(
            f"Content-Type must be application/json or application/a2a+json, not {label[:100]}"
        )


def check_is_plain(headers: Mapping[bytes, str]) -> None:
    """Refuse a compressed body: how large it is would not be known before it is unpacked."""
    coding = headers.get(b"content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaTypeError(
            f"Bodies are read as they are, not with Content-Encoding {coding[:100]}"
        )


def rest_content_type(headers: Mapping[bytes, str], *, force_json: bool) -> bytes:
    """Return the type to answer HTTP+JSON in (Q-04): the request's own, else what it accepts."""
    if force_json:
        return JSON
    label = headers.get(b"content-type")
    if label is not None and _bare(label) in _READ:
        return _bare(label).encode()
    accepted = [_bare(item) for item in headers.get(b"accept", "").split(",")]
    if JSON.decode() in accepted and A2A_JSON.decode() not in accepted:
        return JSON
    return A2A_JSON


def _bare(label: str) -> str:
    return label.partition(";")[0].strip().lower()
