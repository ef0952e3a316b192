"""How logins look to people and programs: everything about them but the secrets."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.cli.session.logins import Login
from dragoman.cli.views.labels import Lines
from dragoman.model.timestamps import format_timestamp

__all__ = ("login_document", "login_lines")


def login_document(login: Login) -> dict[str, object]:
    """Return a login as JSON."""
    expires_at_ms = login.token.expires_at_ms
    return {
        "agent": login.agent,
        "origin": login.origin,
        "scheme": login.scheme or None,
        "flow": login.flow,
        "issuer": login.authority,
        "clientId": login.client_id,
        "scopes": _scopes_of(login),
        "expiresAt": None if expires_at_ms is None else format_timestamp(expires_at_ms),
        "canBeRenewed": _can_be_renewed(login),
    }


def login_lines(logins: Iterable[Login]) -> Lines:
    """Return logins as text, a record each."""
    lines = Lines()
    for login in logins:
        expires_at_ms = login.token.expires_at_ms
        lines.gap().field("Agent", login.agent)
        if login.origin != login.agent:
            lines.field("Token is for", login.origin)
        if login.scheme:
            lines.field("Scheme", login.scheme)
        lines.field("Issuer", login.authority).field("Client", login.client_id)
        lines.field("Flow", login.flow).field("Scopes", " ".join(_scopes_of(login)) or "-")
        lines.field(
            "Expires", "unknown" if expires_at_ms is None else format_timestamp(expires_at_ms)
        )
        lines.field("Renewable", "yes" if _can_be_renewed(login) else "no")
    return lines


def _scopes_of(login: Login) -> list[str]:
    """Return what was granted, otherwise what was asked for (RFC 6749, 5.1: then it is that)."""
    return login.token.scope.split() or list(login.scopes)


def _can_be_renewed(login: Login) -> bool:
    return bool(login.token.refresh_token or login.client_secret)
