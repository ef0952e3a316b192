"""The XPR profile: ``POST /a2a``, an address that the network shares with all versions.

There its checks have an order of their own: a request that is no envelope is told so, whoever sent
it. Its errors have HTTP status 200, except for a body that is too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.dialects.base import Method
from dragoman.dialects.negotiation import Version
from dragoman.dialects.profiles.base import Claim, Profile, Serving
from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT, Xpr, heard_from
from dragoman.dialects.profiles.xpr.recognition import recognise
from dragoman.errors import (
    A2AError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
    UnsupportedMediaTypeError,
)
from dragoman.model.operations import SendMessageRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dragoman.dialects.base import Reading, RestDialect, RpcDialect
    from dragoman.dialects.profiles.base import RequestHead

__all__ = ("PROFILE", "ServedXpr")

_SIGNATURE: Final = b"x-xpr-signature"
_ACCOUNT: Final = b"x-xpr-account"

_NO_BODY: Final = "Parse error: missing request body"
_NO_REQUEST: Final = "Invalid request: must be JSON-RPC 2.0 with a method"


class ServedXpr:
    """The profile on a server.

    Args:
        prefixes: what stands before the account in the owner of a signed request. Without any,
            nobody can sign, and requests must show by themselves that they are of the network.
        is_strict: the server keeps to the letter of A2A, and speaks XPR only if callers can sign.
    """

    path: str = "/a2a"
    owns_path: bool = False
    marks_traces: bool = False
    dialect: RpcDialect = XPR_DIALECT
    rest_dialect: RestDialect | None = None

    def __init__(self, prefixes: Sequence[str] = (), *, is_strict: bool = False) -> None:
        self._prefixes = prefixes
        self._can_sign = bool(prefixes)
        self._is_open = self._can_sign or not is_strict

    def claims(self, head: RequestHead, method: str, params: bytes, *, is_known: bool) -> Claim:
        """Decide by what a request says; one that states a version is none of the network's."""
        if not self._is_here(head):
            return Claim.NO
        return recognise(method, params, is_expected=self.is_likely(head), is_known=is_known)

    def is_likely(self, head: RequestHead) -> bool:
        """Whether more than the path speaks for the network: callers sign, or this one did."""
        return self._can_sign or _SIGNATURE in head.headers or _ACCOUNT in head.headers

    def is_default(self, head: RequestHead) -> bool:
        """Whether callers of this agent sign, so that other requests have to show what they are."""
        return self._can_sign and self._is_here(head)

    def find_method(self, name: str, head: RequestHead, params: bytes = b"{}") -> Method:
        """Return what a method name means.

        Raises:
            MethodNotFoundError: the network has no such method.
        """
        del head
        operation = XPR_DIALECT.operation(name)
        if operation is None:
            raise MethodNotFoundError(f"Method not found: {name[:100]}")
        return Method(XPR_DIALECT, operation)

    def dialect_of(self, origin: str) -> RpcDialect | None:
        """Return the dialect if a task was begun in it."""
        return XPR_DIALECT if origin == XPR_DIALECT.name else None

    def reword(self, error: A2AError, body: bytes | None) -> A2AError:
        """Return why a request cannot be read, as the network says it."""
        if body is None:
            is_empty = isinstance(error, UnsupportedMediaTypeError)
        else:
            is_empty = not body.strip()
        if is_empty:
            return JSONParseError(_NO_BODY)
        return InvalidRequestError(_NO_REQUEST) if isinstance(error, InvalidRequestError) else error

    def address(self, reading: Reading, owner: str) -> Reading:
        """Return a reading whose answer names the account of the owner."""
        if not isinstance(reading.answer, Xpr):
            return reading
        return reading._replace(answer=reading.answer.owned_by(self.account_of(owner) or owner))

    @property
    def receives_all(self) -> bool:
        """Whether callers can sign: then no message of any version names another account."""
        return self._can_sign

    def receive(self, request: SendMessageRequest, owner: str) -> SendMessageRequest:
        """Return a message that names the account which has signed it, and no other."""
        return heard_from(request, self.account_of(owner))

    def account_of(self, owner: str) -> str:
        """Return the account that has signed, "" if the owner is known otherwise, or not at all."""
        for prefix in self._prefixes:
            if owner.startswith(prefix):
                return owner[len(prefix) :]
        return ""

    def _is_here(self, head: RequestHead) -> bool:
        return (
            head.path == self.path
            and self._is_open
            and head.method == "POST"
            and not head.parameter(b"a2a-version", "A2A-Version")
        )


class CalledXpr:
    """The profile for a client: agents are called beside the address that they publish.

    0.x reference, 8.1 X2.
    """

    path: str = "/a2a"
    name: str = XPR_DIALECT.name
    version: Version = Version(0, 2)
    replaces: str = ""
    dialect: RpcDialect = XPR_DIALECT

    def is_shown_by(self, members: Collection[str]) -> bool:
        """Whether the card has members of the network."""
        return any(name.startswith("xpr:") for name in members)


def _serve(server: Serving) -> ServedXpr:
    """Return the profile: every server speaks it, and needs no setting for that."""
    return ServedXpr(server.account_prefixes, is_strict=server.is_strict)


PROFILE: Final = Profile(
    name=XPR_DIALECT.name, serve=_serve, called=CalledXpr(), headers=(_ACCOUNT, _SIGNATURE)
)
