"""The Profile port: what a framework or a network has made of A2A.

A profile shares addresses and method names with the versions of A2A, and differs in what it says
there. To add one, write its folder and list it in ``dragoman.dialects.registry``; nothing else
knows profiles by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from dragoman.dialects.base import RestDialect, RpcDialect

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dragoman.dialects.base import Method, Reading
    from dragoman.dialects.negotiation import Version
    from dragoman.errors import A2AError
    from dragoman.model.operations import SendMessageRequest

__all__ = ("CalledProfile", "Claim", "Profile", "RequestHead", "ServedProfile", "Serving")


class Claim(Enum):
    """Whether a request is one of the profile."""

    NO = auto()
    YES = auto()
    ASK_TASK = auto()
    """Only the task that the request names can tell, by the form in which it was begun."""


class RequestHead(Protocol):
    """What a profile may look at of an HTTP request before its body is understood."""

    @property
    def path(self) -> str:
        """The path, without a slash at its end."""
        ...

    @property
    def method(self) -> str:
        """The HTTP method."""
        ...

    @property
    def headers(self) -> Mapping[bytes, str]:
        """The headers that the server reads, by their name in lower case."""
        ...

    @property
    def takes_stream(self) -> bool:
        """Whether the client accepts a stream."""
        ...

    def parameter(self, header: bytes, name: str) -> str | None:
        """Return a service parameter: from its header, else from the query."""
        ...


class ServedProfile(Protocol):
    """A profile as one server speaks it."""

    @property
    def path(self) -> str:
        """Where its JSON-RPC requests arrive."""
        ...

    @property
    def dialect(self) -> RpcDialect:
        """The dialect of its JSON-RPC requests, and of their refusal."""
        ...

    @property
    def rest_dialect(self) -> RestDialect | None:
        """The JSON that the routes of 0.3 read and write for it; None for that of 0.3."""
        ...

    @property
    def owns_path(self) -> bool:
        """Whether whatever arrives at the path is answered as the profile does.

        Requests by the methods of the newest version excepted. Envelopes are then read strictly.
        """
        ...

    @property
    def marks_traces(self) -> bool:
        """Whether events tell the ids of their trace and span in their metadata."""
        ...

    def claims(self, head: RequestHead, method: str, params: bytes, *, is_known: bool) -> Claim:
        """Decide whether a request that arrived at the path is one of the profile.

        Args:
            is_known: a version of A2A has a method of this name.
        """
        ...

    def is_likely(self, head: RequestHead) -> bool:
        """Whether a request whose task is unknown is taken for one of the profile."""
        ...

    def is_default(self, head: RequestHead) -> bool:
        """Whether a request that cannot be read, or is refused unread, is the profile's."""
        ...

    def find_method(self, name: str, head: RequestHead, params: bytes = b"{}") -> Method:
        """Return what a method name means in a request with these params.

        Raises:
            MethodNotFoundError: the profile has no such method.
        """
        ...

    def dialect_of(self, origin: str) -> RpcDialect | None:
        """Return the dialect for a task that was begun in ``origin``, None if not the profile's."""
        ...

    def reword(self, error: A2AError, body: bytes | None) -> A2AError:
        """Return what is wrong with a request that cannot be read, in the profile's words.

        Args:
            body: None if the request was refused before its body was read.
        """
        ...

    def address(self, reading: Reading, owner: str) -> Reading:
        """Return a reading whose answer is for a task of this owner."""
        ...

    @property
    def receives_all(self) -> bool:
        """Whether ``receive`` is for messages of every dialect, not for the profile's own alone."""
        ...

    def receive(self, request: SendMessageRequest, owner: str) -> SendMessageRequest:
        """Return a message as the agent is to see it."""
        ...


class CalledProfile(Protocol):
    """A profile as a client speaks it."""

    @property
    def name(self) -> str:
        """What the profile is called."""
        ...

    @property
    def dialect(self) -> RpcDialect:
        """The dialect in which its agents are called over JSON-RPC."""
        ...

    @property
    def path(self) -> str:
        """Where they are called first, relative to the address on their card."""
        ...

    @property
    def version(self) -> Version:
        """The version of A2A that its cards are of."""
        ...

    @property
    def replaces(self) -> str:
        """The form whose place it takes; "" if it is tried before what the card says."""
        ...

    def is_shown_by(self, members: Collection[str]) -> bool:
        """Whether a card with these members is one of the profile's."""
        ...


class Serving(Struct, frozen=True, kw_only=True):
    """What a server says of itself when profiles are set up.

    Attributes:
        names: the profiles that its settings name.
        account_prefixes: what stands before an account in the owner of a signed request.
        is_strict: it reads each version by the letter.
    """

    names: Sequence[str] = ()
    account_prefixes: Sequence[str] = ()
    is_strict: bool = False


class Profile(Struct, frozen=True, kw_only=True):
    """A profile as it is registered.

    Attributes:
        name: what settings and clients call it.
        serve: returns what a server speaks of it, None if it does not.
        called: what a client speaks of it.
        origins: the forms in which it begins tasks on the routes of 0.3.
        told: the forms in which webhooks are registered with it, and told.
        headers: those of its own that its requests may have.
        is_setting: it is spoken by servers, and to agents, that are told to by its name.
    """

    name: str
    serve: Callable[[Serving], ServedProfile | None]
    called: CalledProfile
    origins: tuple[RestDialect, ...] = ()
    told: tuple[RpcDialect, ...] = ()
    headers: tuple[bytes, ...] = ()
    is_setting: bool = False
