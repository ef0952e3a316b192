"""Authenticator: who calls, told by what came with the request.

An authenticator both says in the card what callers must show (``scheme``) and checks that they do
(``authenticate``). It sees raw headers and the certificate of the connection, never the decoded
request; so one of them serves every version and every binding alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from dragoman.model.security import SecurityScheme
from dragoman.service.principal import Principal

__all__ = ("Authenticator", "Evidence", "Principal")


class Evidence(Struct, frozen=True, kw_only=True, gc=False):
    """What a request shows of its caller.

    Attributes:
        headers: by lower-case name; gRPC metadata is the same.
        query: the query string, percent-encoded, "" on gRPC.
        peer: the address of the caller, None where there is none (a unix socket).
        certificate: the caller's certificate (DER) if the connection has verified one.
    """

    headers: Mapping[bytes, str]
    query: str = ""
    peer: str | None = None
    certificate: bytes | None = None


class Authenticator(Protocol):
    """One way to show who one is."""

    @property
    def name(self) -> str:
        """The name of the scheme in the card."""
        ...

    @property
    def scheme(self) -> SecurityScheme:
        """What the card says of it."""
        ...

    @property
    def challenge(self) -> str:
        """What ``WWW-Authenticate`` tells a caller who has shown nothing; "" for nothing."""
        ...

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return who calls; None if nothing of this kind was shown.

        Raises:
            UnauthenticatedError: what was shown is not good. It says no more than that.
            UnavailableError: it cannot be told now (keys or introspection out of reach).
        """
        ...
