"""Profiles: forms that are made of a version and of somebody's additions to it. Not a dialect."""

from __future__ import annotations

from typing import Final

from dragoman.dialects.profiles.rxjs.codec import FOR_ANY, FOR_TOOLS, Rxjs
from dragoman.dialects.v0_3.codec import V0_3

__all__ = (
    "RXJS",
    "RXJS_DIALECT",
    "RXJS_REST_DIALECT",
    "RXJS_REST_TOOLS_DIALECT",
    "RXJS_TOOLS_DIALECT",
)

RXJS: Final = "rxjs"
"""What the profile is called in settings."""

RXJS_TOOLS_DIALECT: Final = Rxjs(V0_3("rxjs+tools", additions=FOR_TOOLS))
RXJS_DIALECT: Final = Rxjs(V0_3("rxjs", additions=FOR_ANY), RXJS_TOOLS_DIALECT)
"""On JSON-RPC."""

RXJS_REST_TOOLS_DIALECT: Final = Rxjs(V0_3("rxjs-rest+tools", additions=FOR_TOOLS))
RXJS_REST_DIALECT: Final = Rxjs(V0_3("rxjs-rest", additions=FOR_ANY), RXJS_REST_TOOLS_DIALECT)
"""On HTTP+JSON."""
