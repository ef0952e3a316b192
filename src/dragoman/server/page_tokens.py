"""Page tokens: opaque to clients, tied to the query they came from."""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec

from dragoman.errors import InvalidParamsError
from dragoman.stores.base import Position, TaskQuery

__all__ = ("decode_page_token", "encode_page_token")

_MARK_BYTES = 6
_LAST_MS = 2**53
"""No time is later; a larger number is none of ours."""


def encode_page_token(query: TaskQuery, position: Position) -> str:
    """Return the token for the tasks after ``position``."""
    payload = f"{position.status_at_ms}.{position.task_id}".encode()
    # The mark comes last: a token that begins with "-" would be taken for an option in a shell.
    return base64.urlsafe_b64encode(payload + _mark(query, payload)).decode().rstrip("=")


def decode_page_token(query: TaskQuery, token: str) -> Position:
    """Read a token back; one of another query, or made up, is refused (Q-30)."""
    try:
        raw = base64.b64decode(
            token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
        )
        payload, mark = raw[:-_MARK_BYTES], raw[-_MARK_BYTES:]
        status_at, _, task_id = payload.decode().partition(".")
        position = Position(int(status_at), task_id)
    except (ValueError, binascii.Error):
        mark, payload, position = b"", b"", None
    if position is None or mark != _mark(query, payload) or position.status_at_ms > _LAST_MS:
        raise InvalidParamsError.of(
            "pageToken", "must be the nextPageToken of an earlier page of the same list"
        )
    return position


def _mark(query: TaskQuery, payload: bytes) -> bytes:
    """Tie a token to its query, so that it cannot be carried over to other filters by mistake."""
    filters = (query.scope, query.context_id, query.state, query.status_at_or_after_ms)
    return hashlib.blake2b(msgspec.json.encode(filters) + payload, digest_size=_MARK_BYTES).digest()
