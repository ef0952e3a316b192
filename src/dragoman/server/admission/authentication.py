"""Who is calling: decided on raw headers, before anything is read or parsed.

While an agent has no authenticator it is closed to other machines: only loopback peers are served,
and of those only ones that are not a web page or a proxy acting for somebody else. With one, it is
open to whoever can show who they are. A browser shows some credentials (cookies, certificates,
passwords it was told) for any page that asks it to, so pages of other sites are kept out then, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from dragoman.auth.incoming.authenticator import Evidence, ReadBody
from dragoman.bindings.nesting import is_nested_deeper_than
from dragoman.errors import (
    A2AError,
    JSONParseError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
)
from dragoman.server.admission import audit
from dragoman.server.admission.client_address import Addressed, host_of, is_loopback
from dragoman.service.principal import NOBODY, Principal

__all__ = ("Authenticates", "Counts", "Guard", "IncomingRequest")

_CLOSED = (
    "This agent has no authentication and serves only callers on its own machine; "
    "start it with --allow-anonymous to open it"
)


_FOREIGN_PAGE = "Web pages of other sites are not served"

_RPC_ALONE = "This agent is called by JSON-RPC alone: its callers sign the bodies of requests"


class IncomingRequest(Addressed, Protocol):
    """A request whose headers have come: those this server looks at are at hand."""

    @property
    def principal(self) -> Principal:
        """Who calls, once it is known."""
        ...

    allowance: tuple[tuple[bytes, bytes], ...]
    """Headers that tell what is left of a rate limit; none where there is no limit."""

    def evidence(self, read_body: ReadBody | None = None) -> Evidence:
        """Return all that it shows of its caller."""
        ...


class Counts(Protocol):
    """Counts requests by where they come from."""

    def meet(self, incoming: IncomingRequest) -> None:
        """Count a request; raises RateLimitedError if there were too many."""
        ...

    def turned_away(self, incoming: IncomingRequest) -> None:
        """Count a request whose credentials were not good."""
        ...


class Authenticates(Protocol):
    """Tells who calls."""

    async def authenticate(self, evidence: Evidence) -> Principal:
        """Return who calls.

        Raises:
            UnauthenticatedError: nothing was shown, or nothing good; tells what would be.
            UnavailableError: it cannot be told now.
        """
        ...


class Guard:
    """Lets requests in, or not.

    Args:
        authentication: tells who calls; None where callers remain unknown.
        allow_anonymous: lets unknown callers of other machines in.
        allows_origin: tells whether pages of a site were allowed to call, as ``Origin`` names it.
        counter: counts requests before anything else is asked.
        needs_body: lets nobody in on bindings whose bodies are not signed.
    """

    def __init__(
        self,
        *,
        allow_anonymous: bool,
        max_body_bytes: int,
        max_depth: int,
        public_url: str | None,
        authentication: Authenticates | None = None,
        allows_origin: Callable[[str], bool] = lambda _: False,
        counter: Counts | None = None,
        needs_body: bool = False,
    ) -> None:
        self._counter = counter
        self._needs_body = needs_body
        self._authentication = authentication
        self._allows_origin = allows_origin
        self._is_open = allow_anonymous or authentication is not None
        self._max_depth = max_depth
        self._max_body_bytes = max_body_bytes
        public_netloc = urlsplit(public_url).netloc if public_url else ""
        self._public_host = host_of(public_netloc)
        self._public_place = _place_of(public_netloc)

    async def enter(
        self, incoming: IncomingRequest, read_body: ReadBody | None = None
    ) -> Principal:
        """Return who calls, or raise for a caller who is not let in; that is logged.

        Args:
            read_body: reads what the caller may have signed; None on a binding without that.

        Raises:
            MethodNotFoundError: callers of this agent sign bodies, and here there is none.
            PermissionDeniedError: the caller has no business here.
            UnauthenticatedError: it did not show who it is (R-7.4-1).
        """
        self.meet(incoming)
        if self._authentication is None:
            return NOBODY
        try:
            if self._needs_body and read_body is None:
                raise MethodNotFoundError(_RPC_ALONE)
            self._check_origin(incoming.headers)
            return await self._authentication.authenticate(incoming.evidence(read_body))
        except A2AError as error:
            # Without a cause nothing was shown: so clients ask what they have to show.
            if self._counter is not None and error.__cause__ is not None:
                self._counter.turned_away(incoming)
            audit.turned_away(incoming.peer, error)
            raise

    def meet(self, incoming: IncomingRequest) -> None:
        """Count a request, and raise for one that is too many or has no business here; logged, too.

        This alone stands before what is public: the card.
        """
        try:
            if self._counter is not None:
                self._counter.meet(incoming)
            self.admit(incoming.peer, incoming.headers)
        except A2AError as error:
            audit.turned_away(incoming.peer, error)
            raise

    def admit(self, peer: str | None, headers: Mapping[bytes, str]) -> None:
        """Raise PermissionDeniedError for a caller who has no business here, whoever it is.

        A proxy on this machine does not make its callers local: the address it reports counts. A
        page in a browser on this machine is not a local caller either: it is told by its Origin,
        or, where a foreign name was made to point here (DNS rebinding), by its Host.
        """
        if self._is_open:
            return
        if peer is not None and not is_loopback(peer):
            raise PermissionDeniedError(_CLOSED)
        for name in (b"x-forwarded-for", b"forwarded"):
            if name in headers and not _is_forwarded_locally(headers[name]):
                raise PermissionDeniedError(_CLOSED)
        origin = headers.get(b"origin")
        if origin is not None and not (
            self._is_own(origin.partition("//")[2]) or self._allows_origin(origin)
        ):
            raise PermissionDeniedError(_FOREIGN_PAGE)
        host = headers.get(b"host")
        if peer is not None and host is not None and not self._is_own(host):
            raise PermissionDeniedError(f"{_CLOSED}, or name its address with --public-url")

    def check_size(self, size: int) -> None:
        """Raise PayloadTooLargeError for a body beyond the limit (R-13.4-6)."""
        if size > self._max_body_bytes:
            raise PayloadTooLargeError(
                f"The request body is larger than {self._max_body_bytes} bytes"
            )

    def check_depth(self, body: bytes) -> None:
        """Raise JSONParseError for a body nested beyond the limit (R-13.4-6)."""
        if is_nested_deeper_than(self._max_depth, body):
            raise JSONParseError(f"The body is nested more than {self._max_depth} levels deep")

    def _check_origin(self, headers: Mapping[bytes, str]) -> None:
        origin = headers.get(b"origin")
        if origin is None or self._allows_origin(origin):
            return
        place = _place_of(origin.partition("//")[2])
        if not place or place not in (self._public_place, _place_of(headers.get(b"host", ""))):
            raise PermissionDeniedError(_FOREIGN_PAGE)

    def _is_own(self, netloc: str) -> bool:
        host = host_of(netloc)
        # No host at all is nobody's: "Origin: null" is what a sandboxed page of any site sends.
        return host != "" and (host == self._public_host or is_loopback(host))


def _place_of(netloc: str) -> str:
    """Return ``host:port`` in one spelling; a proxy in front may speak TLS where we do not."""
    return netloc.lower().removesuffix(":443").removesuffix(":80")


def _is_forwarded_locally(value: str) -> bool:
    """Tell whether every address in a Forwarded or X-Forwarded-For header is of this machine."""
    for hop in value.split(","):
        address = hop.strip()
        if "=" in address:
            pairs = (pair.strip().partition("=") for pair in address.split(";"))
            address = next((value for name, _, value in pairs if name.lower() == "for"), "")
        address = address.strip('" ')
        # A hop that does not say for whom it acts may act for anybody.
        if not (is_loopback(address) or is_loopback(host_of(address))):
            return False
    return True
