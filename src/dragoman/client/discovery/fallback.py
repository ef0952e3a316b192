"""Which way to call an agent when one has failed. Pure: nobody is called here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dragoman.auth.outgoing.origins import origin_of
from dragoman.client.errors import UnreachableError
from dragoman.dialects.negotiation import Version, parse_version
from dragoman.dialects.registry import other_shape
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PayloadTooLargeError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedMediaTypeError,
    VersionNotSupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dragoman.client.discovery.offers import Offer
    from dragoman.errors import DragomanError

__all__ = ("is_understood", "offer_after")

_VERSIONS: Final = re.compile(r"\b\d{1,4}\.\d{1,4}\b", re.ASCII)
_TELLS_NOTHING: Final = (
    MethodNotFoundError,
    MethodNotAllowedError,
    VersionNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
    UnauthenticatedError,
    RateLimitedError,
    UnavailableError,
)


def offer_after(
    offers: Sequence[Offer], index: int, problem: DragomanError, tried: Collection[int]
) -> int | None:
    """Return which offer to try when one has failed, None if the failure stands.

    Only failures count after which nothing can have happened. Whoever has had an answer from an
    offer stays with it: tasks may be known to that interface alone.
    """
    current = offers[index]
    left = [(i, offer) for i, offer in enumerate(offers) if i not in tried and i != index]
    match problem:
        case UnreachableError():
            # Another binding at the same address would not be reached either, but for gRPC,
            # which some proxies do not let pass.
            found = (
                i for i, offer in left if offer.is_declared and _place(offer) != _place(current)
            )
        case VersionNotSupportedError():
            listed = _versions_in(problem) - {current.version}
            found = (i for i, offer in left if offer.version in listed)
        case MethodNotFoundError() | MethodNotAllowedError():
            found = (i for i, _ in left if i > index)
        case InvalidRequestError() if current.binding == "JSONRPC":
            # Our envelopes are in order: so some servers speak of a method they do not know.
            found = (i for i, _ in left if i > index)
        case InvalidParamsError() | InvalidRequestError() | JSONParseError():
            # The peer may have the other JSON of 0.3.
            found = (i for i, offer in left if _is_other_shape(current, offer))
        case _:
            found = iter(())
    return next(found, None)


def is_understood(problem: DragomanError) -> bool:
    """Tell whether a refusal shows that the agent speaks what it was asked in."""
    return isinstance(problem, A2AError) and not isinstance(problem, _TELLS_NOTHING)


def _place(offer: Offer) -> tuple[bool, str]:
    return offer.binding == "GRPC", origin_of(offer.url)


def _versions_in(problem: VersionNotSupportedError) -> set[Version]:
    """Return the versions that a refusal lists; peers do so in its metadata or in its words."""
    texts = " ".join((*problem.metadata.values(), problem.message))
    found = (parse_version(text) for text in _VERSIONS.findall(texts))
    return {version for version in found if version is not None}


def _is_other_shape(current: Offer, offer: Offer) -> bool:
    return (
        offer.form == other_shape(current.form)
        and offer.binding == current.binding
        and offer.url == current.url
    )
