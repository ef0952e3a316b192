"""The audit log: who asked for what, and whether it was allowed.

One line for each call, on the logger ``dragoman.audit``: a JSON object, which is the ``audit``
attribute of the log record as well. Refusals are logged at INFO, all else at DEBUG. What callers
choose is cut short and escaped, so that nobody can write lines of their own. Headers, queries and
bodies are never looked at: there is no secret to leave out.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from dragoman.auth.incoming.authenticator import BadCredentialsError
from dragoman.errors import (
    A2AError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnknownTenantError,
    spelling_of,
)

__all__ = ("accepted", "refused", "turned_away")

_logger = logging.getLogger("dragoman.audit")

_REFUSALS: Final = (
    UnauthenticatedError,
    PermissionDeniedError,
    RateLimitedError,
    UnknownTenantError,
    # It may belong to somebody else; nobody looks which it is.
    TaskNotFoundError,
)

_MAX_CHARACTERS: Final = 200
"""Of a text that a caller or an authenticator has chosen."""


def accepted(who: str, operation: str, tenant: str) -> None:
    """Tell of a call that was performed."""
    if _logger.isEnabledFor(logging.DEBUG):
        _log(logging.DEBUG, outcome="accepted", who=who, operation=operation, tenant=tenant)


def refused(who: str, operation: str, tenant: str, error: A2AError) -> None:
    """Tell of a call that was not: because it may not be, or because it failed."""
    is_refusal = isinstance(error, _REFUSALS)
    _log(
        logging.INFO if is_refusal else logging.DEBUG,
        outcome="refused" if is_refusal else "failed",
        who=who,
        operation=operation,
        tenant=tenant,
        why=spelling_of(error).reason,
        detail=error.message,
    )


def turned_away(peer: str | None, error: A2AError) -> None:
    """Log a caller who was not authenticated; what it wanted has not been read.

    The peer is not told what was wrong with its credentials; whoever reads the log is.
    """
    cause = error.__cause__
    _log(
        logging.INFO,
        outcome="refused",
        who="",
        peer=peer or "",
        why=spelling_of(error).reason,
        detail=str(cause) if isinstance(cause, BadCredentialsError) else error.message,
    )


def _log(level: int, **fields: str) -> None:
    if _logger.isEnabledFor(level):
        entry = {name: value[:_MAX_CHARACTERS] for name, value in fields.items()}
        # Escaped and in one line, whatever is in it.
        _logger.log(level, "%s", msgspec.json.encode(entry).decode(), extra={"audit": entry})
