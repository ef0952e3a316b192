"""Targets: whom a signed request is meant for, where its body says so.

The signature covers the body and no address. A sender who names the agent in the body makes sure
that nobody takes the request to another one.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, field

from dragoman.dialects.profiles.xpr.members import TARGET

__all__ = ("named_target",)


class _Metadata(Struct):
    target: object = field(name=TARGET, default=None)


class _Params(Struct):
    target: object = field(name=TARGET, default=None)
    metadata: _Metadata | None = None


class _Request(Struct):
    params: _Params | None = None


_decode: Final = msgspec.json.Decoder(_Request).decode


def named_target(body: bytes) -> str | None:
    """Return the account that a request is meant for, None if it names none.

    What is no JSON-RPC request names none; whoever reads it says what is wrong with it.
    """
    try:
        params = _decode(body).params
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if params is None:
        return None
    named = params.target
    if named is None and params.metadata is not None:
        named = params.metadata.target
    return None if named is None else str(named)
