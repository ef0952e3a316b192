"""What a client shows to an agent: the port, and the credentials that need no third party.

Credentials are for one origin. Without ``for_origin`` that is the agent's own, and whoever connects
says which it is, with ``bound_to``. Asked for another origin, or bound to none, they attach
nothing. Which of them travel, and how, is decided by the card:
``dragoman.auth.outgoing.requirements``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import ClassVar, Final, Literal, Protocol, Self, TypeAlias, runtime_checkable
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from dragoman.auth.outgoing.origins import origin_of
from dragoman.errors import UsageError
from dragoman.model.security import SecurityScheme

__all__ = (
    "NOTHING",
    "ApiKey",
    "Attachment",
    "Basic",
    "Bearer",
    "Credentials",
    "Custom",
    "KeyLocation",
    "OriginBound",
    "SignBody",
    "origin_bound",
)

KeyLocation: TypeAlias = Literal["header", "query", "cookie"]
"""R-4.5.2-1: where an API key travels."""

SignBody: TypeAlias = Callable[[bytes], Mapping[str, str]]
"""Returns the headers that sign a body, none for one that is not signed."""


class Attachment(Struct, frozen=True):
    """What is added to one request: headers, members of the query, cookies.

    Attributes:
        signers: sign the body, once that is final.
    """

    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    cookies: Mapping[str, str] = {}
    signers: tuple[SignBody, ...] = ()

    def __repr__(self) -> str:
        """Show the names, no secret."""
        return f"Attachment({', '.join([*self.headers, *self.query, *self.cookies])})"

    def joined(self, other: Attachment) -> Attachment:
        """Return both; where they name the same thing, the other's counts."""
        return Attachment(
            headers={**self.headers, **other.headers},
            query={**self.query, **other.query},
            cookies={**self.cookies, **other.cookies},
            signers=(*self.signers, *other.signers),
        )

    def http_headers(self, body: bytes = b"") -> dict[str, str]:
        """Return the headers, with the cookies as the one header they travel in.

        Args:
            body: as it is sent, byte for byte; it is signed where something is there to do so.
        """
        headers = dict(self.headers)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        for sign in self.signers:
            headers.update(sign(body))
        return headers

    def applied_to(self, url: str) -> str:
        """Return a URL with what travels in its query."""
        if not self.query:
            return url
        return f"{url}{'&' if '?' in url else '?'}{urlencode(self.query)}"

    def grpc_metadata(self) -> tuple[tuple[str, str], ...]:
        """Return everything as metadata: a call of gRPC has neither query nor cookies."""
        found = {**self.query, **self.http_headers()}
        return tuple((name.lower(), value) for name, value in found.items())


NOTHING: Final = Attachment()


@runtime_checkable
class Credentials(Protocol):
    """Whatever can authenticate the requests of a client."""

    async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
        """Return what to add to a request to this origin (``https://host:port``).

        Nothing is attached for an origin that the credentials are not for. Called for every
        request, so what takes long is remembered.

        Args:
            is_retry: the agent has refused what was attached last (401): renew it if that can be
                done. If it cannot, the same comes again.

        Raises:
            CredentialsError: there is nothing to attach, and without it there is no use in asking.
        """
        ...


class OriginBound(Struct, frozen=True, kw_only=True):
    """Credentials for one origin; subclasses say what is attached there.

    Attributes:
        signs_bodies: they sign the bodies of JSON-RPC requests, and are good for nothing else.
    """

    signs_bodies: ClassVar[bool] = False

    for_origin: str = ""

    def __post_init__(self) -> None:
        """Bring the origin to the one form in which origins are compared."""
        if self.for_origin:
            force_setattr(self, "for_origin", origin_of(self.for_origin))

    def __repr__(self) -> str:
        """Show no secret."""
        return f"{type(self).__name__}(for_origin={self.for_origin!r})"

    def bound_to(self, origin: str) -> Self:
        """Return the same for an origin; one that was given before stays."""
        return self if self.for_origin else replace(self, for_origin=origin)

    async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
        """Return what to add to a request to this origin; see ``Credentials.attach``."""
        if self.for_origin and self.for_origin in (origin, origin_of(origin)):
            return await self.attachment(is_retry=is_retry)
        return NOTHING

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return what is attached at the right origin."""
        raise NotImplementedError

    def fits(self, scheme: SecurityScheme | None) -> bool:
        """Tell whether they meet a scheme, for those of which ``fitting`` knows nothing more."""
        del scheme
        return True


class Bearer(OriginBound, frozen=True):
    """A token that somebody has got already: ``Authorization: Bearer …``."""

    token: str

    def __post_init__(self) -> None:
        """Refuse what cannot stand in a header."""
        OriginBound.__post_init__(self)
        _check(self.token, "token")

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return the token; it cannot be renewed."""
        del is_retry
        return Attachment(headers={"Authorization": f"Bearer {self.token}"})


class ApiKey(OriginBound, frozen=True):
    """A key in a header, the query or a cookie.

    ``name`` and ``location`` are for an agent whose card does not tell. What the card tells is
    filled in where they are left out.
    """

    key: str
    name: str = ""
    location: KeyLocation | Literal[""] = ""

    def __post_init__(self) -> None:
        """Refuse what cannot travel."""
        OriginBound.__post_init__(self)
        _check(self.key, "key")
        if self.location == "cookie" and set(self.key) & set(' ",;\\'):
            raise UsageError("the key cannot be a cookie: it has a character that ends one")

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return the key where it belongs; it cannot be renewed."""
        del is_retry
        if not self.name:
            raise UsageError("the card does not say how the API key travels: give it a name")
        item = {self.name: self.key}
        match self.location:
            case "query":
                return Attachment(query=item)
            case "cookie":
                return Attachment(cookies=item)
            case _:
                return Attachment(headers=item)


class Basic(OriginBound, frozen=True):
    """A user and a password (RFC 7617): ``Authorization: Basic …``."""

    user: str
    password: str

    def __post_init__(self) -> None:
        """Refuse what RFC 7617 cannot carry."""
        OriginBound.__post_init__(self)
        if ":" in self.user:
            raise UsageError("a user of basic authentication cannot have a colon in the name")

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return user and password; they cannot be renewed."""
        del is_retry
        pair = b64encode(f"{self.user}:{self.password}".encode()).decode()
        return Attachment(headers={"Authorization": f"Basic {pair}"})


Provided: TypeAlias = Attachment | Mapping[str, str]
Provider: TypeAlias = Callable[[bool], Provided | Awaitable[Provided]]


class Custom(OriginBound, frozen=True):
    """A function of your own, plain or async, that stands for whatever the card asks for.

    It is called for every request, with True when the agent has refused what came before, and
    returns headers or an ``Attachment``.
    """

    function: Provider

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return what the function returns."""
        provided = self.function(is_retry)
        if isawaitable(provided):
            provided = await provided
        return provided if isinstance(provided, Attachment) else Attachment(headers=provided)


class _Fenced(OriginBound, frozen=True):
    """Credentials of a foreign class, which may not look at the origin."""

    inner: Credentials

    async def attachment(self, *, is_retry: bool) -> Attachment:
        return await self.inner.attach(self.for_origin, is_retry=is_retry)


def origin_bound(credentials: Credentials) -> OriginBound:
    """Return the credentials, fenced in if they are of a class that may not look at the origin."""
    return credentials if isinstance(credentials, OriginBound) else _Fenced(credentials)


def _check(secret: str, what: str) -> None:
    """Refuse what would break out of a header (RFC 9110, 5.5), without showing it."""
    if not secret or not secret.isascii() or not secret.isprintable():
        raise UsageError(f"the {what} is empty, or has characters that no header can carry")
