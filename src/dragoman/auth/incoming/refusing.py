"""Refusing credentials: the peer learns that they are not good, the log learns why.

Who tries to get in by guessing is not told how close a guess came.
"""

from __future__ import annotations

from dragoman.errors import UnauthenticatedError

__all__ = ("BadCredentialsError", "refused")

_MESSAGE = "The credentials are not good"


class BadCredentialsError(Exception):
    """Why credentials are not good; for the log alone, and without any secret."""


def refused(reason: BadCredentialsError, challenge: str = "") -> UnauthenticatedError:
    """Return what the peer is told; the reason stays beside it, as its cause.

    Args:
        challenge: what ``WWW-Authenticate`` says of it; "" for what the authenticator always says.
    """
    error = UnauthenticatedError(_MESSAGE, challenges=(challenge,) if challenge else ())
    error.__cause__ = reason
    return error
