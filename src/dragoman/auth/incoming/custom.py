"""CustomAuthenticator: a function of your own that says who calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final, TypeAlias

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.errors import UsageError
from dragoman.model.security import SecurityScheme

__all__ = ("CustomAuthenticator", "Identify")

Identify: TypeAlias = Callable[[Evidence], Principal | Awaitable[Principal | None] | None]
"""Returns who calls, None if nothing was shown that it knows of. Raises UnauthenticatedError for
what is not good, UnavailableError for what cannot be told now."""


class CustomAuthenticator:
    """Lets in whom a function knows.

    The function is called for every request, on the event loop: one that takes its time should be a
    coroutine function. Compare secrets with ``hmac.compare_digest``, or look them up by a hash.
    """

    def __init__(
        self, function: Identify, *, name: str, scheme: SecurityScheme, challenge: str = ""
    ) -> None:
        """Take the function, and what the card says of what it wants to see.

        Args:
            challenge: what ``WWW-Authenticate`` tells a caller who has shown nothing.

        Raises:
            UsageError: the name is empty.
        """
        if not name:
            raise UsageError("name is missing: what does the card call the scheme?")
        self._function = function
        self.name: Final = name
        self.scheme: Final = scheme
        self.challenge: Final = challenge

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whom the function names; see ``Authenticator.authenticate``.

        Whatever else the function raises is passed on: nobody is let in.
        """
        found = self._function(evidence)
        if isawaitable(found):
            found = await found
        if found is not None and not found.owner:
            raise refused(BadCredentialsError("the function names an owner that is empty"))
        return found
