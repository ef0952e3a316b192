"""Authenticator: who calls, told by what came with the request.

An authenticator both says in the card what callers must show (``scheme``) and checks that they do
(``authenticate``). It sees raw headers and the certificate of the connection, never the decoded
request; so one of them serves every version and every binding alike. One that ``SignsBodies`` looks
at the bytes of the body as well, and serves JSON-RPC alone.

An authenticator that finds credentials not to be good raises ``refused(BadCredentialsError(...))``:
the peer learns that they are not good, the log learns why. Who tries to get in by guessing is not
told how close a guess came.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from dragoman.errors import UnauthenticatedError
from dragoman.model.security import SecurityScheme
from dragoman.service.principal import Principal

__all__ = (
    "Authenticator",
    "BadCredentialsError",
    "Evidence",
    "KnowsAccounts",
    "Principal",
    "ReadBody",
    "SignsBodies",
    "refused",
)


ReadBody: TypeAlias = Callable[[], Awaitable[bytes]]
"""Reads the body of a request, within the limits of the server; twice is the same."""


_MESSAGE = "The credentials are not good"


class Evidence(Struct, frozen=True, kw_only=True, gc=False):
    """What a request shows of its caller.

    Attributes:
        headers: by lower-case name; gRPC metadata is the same.
        query: the query string, percent-encoded, "" on gRPC.
        peer: the address of the caller, None where there is none (a unix socket).
        certificate: the caller's certificate (DER) if the connection has verified one.
        body: reads the body of a JSON-RPC request, None on other bindings. It is not read before
            somebody asks: who is turned away by its headers alone sends it for nothing.
    """

    headers: Mapping[bytes, str]
    query: str = ""
    peer: str | None = None
    certificate: bytes | None = None
    body: ReadBody | None = None


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


@runtime_checkable
class SignsBodies(Protocol):
    """An authenticator whose callers sign the bodies of JSON-RPC requests.

    Other bindings have requests without a body, and one signature would be good for all of them.
    """

    @property
    def signs_bodies(self) -> bool:
        """Whether they do."""
        ...

    @property
    def is_optional(self) -> bool:
        """Whether requests that are not signed are let in as well, as anybody's."""
        ...


@runtime_checkable
class KnowsAccounts(SignsBodies, Protocol):
    """One whose callers are accounts of the XPR network."""

    @property
    def owner_prefix(self) -> str:
        """What stands before the account in the name of an owner who has signed; "" if nothing."""
        ...


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
