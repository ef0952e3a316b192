"""The place where the XPR network calls agents: ``POST /a2a``, which it shares with all versions.

There its checks have an order of their own: an envelope that is none is told to anybody, whoever it
is. Its errors ride on HTTP 200, but for a body that is too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dragoman.bindings.jsonrpc import BadEnvelopeError, JsonRpcRequest
from dragoman.dialects.profiles.xpr.recognition import Verdict, recognise
from dragoman.dialects.registry import is_method
from dragoman.errors import (
    A2AError,
    InvalidRequestError,
    JSONParseError,
    UnsupportedMediaTypeError,
)
from dragoman.server.http.exchange import Exchange

__all__ = ("XprPlace", "in_its_words")

_PATH: Final = "/a2a"
_SIGNATURE: Final = b"x-xpr-signature"
_ACCOUNT: Final = b"x-xpr-account"

_NO_BODY: Final = "Parse error: missing request body"
_NO_REQUEST: Final = "Invalid request: must be JSON-RPC 2.0 with a method"


class XprPlace:
    """Tells which requests are of the XPR network, and of whom.

    Args:
        prefixes: what stands before the account in the name of an owner who has signed. Without any
            nobody can sign, and this is not the network's home.
        is_strict: the server keeps to the letter of A2A, so that elsewhere nobody is.

    Attributes:
        is_home: callers of this agent may sign their requests, so that whoever comes to this place
            without saying more is taken for one of this network.
    """

    def __init__(self, prefixes: Sequence[str] = (), *, is_strict: bool = False) -> None:
        self._prefixes = prefixes
        self.is_home: Final = bool(prefixes)
        self._is_open = self.is_home or not is_strict

    def is_here(self, exchange: Exchange) -> bool:
        """Tell whether a request may be of this network, by where it is sent to."""
        return (
            exchange.path == _PATH
            and self._is_open
            and exchange.method == "POST"
            and not exchange.parameter(b"a2a-version", "A2A-Version")
        )

    def is_home_to(self, exchange: Exchange) -> bool:
        """Tell whether a request is of this network unless it shows otherwise."""
        return self.is_home and self.is_here(exchange)

    def verdict(self, exchange: Exchange, envelope: JsonRpcRequest) -> Verdict:
        """Tell whether a request is of this network, by what it says."""
        if not self.is_here(exchange):
            return Verdict.OTHER
        return recognise(
            envelope.method,
            envelope.params,
            is_expected=self.is_expected(exchange),
            is_known_elsewhere=is_method(envelope.method),
        )

    def is_expected(self, exchange: Exchange) -> bool:
        """Tell whether more than the place speaks for this network."""
        return self.is_home or _SIGNATURE in exchange.headers or _ACCOUNT in exchange.headers

    def account_of(self, owner: str) -> str:
        """Return the account that has signed, "" if the owner is known otherwise, or not at all."""
        for prefix in self._prefixes:
            if owner.startswith(prefix):
                return owner[len(prefix) :]
        return ""


def in_its_words(refused: A2AError | BadEnvelopeError, body: bytes) -> A2AError | BadEnvelopeError:
    """Return why a request cannot be read, as this network says it.

    Args:
        body: as far as it was read.
    """
    if isinstance(refused, BadEnvelopeError):
        if not body.strip():
            return BadEnvelopeError(JSONParseError(_NO_BODY))
        if isinstance(refused.error, InvalidRequestError):
            return BadEnvelopeError(InvalidRequestError(_NO_REQUEST), refused.id, refused.method)
    elif isinstance(refused, UnsupportedMediaTypeError):
        return BadEnvelopeError(JSONParseError(_NO_BODY))
    return refused
