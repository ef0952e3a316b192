"""Settings as the parts of the server need them: each part names those it asks for, by their names.

So a limit is written down once, in ``Settings``, with its default and its reason.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from dragoman.server.settings import Settings

__all__ = ("limits_of",)

_Limits = TypeVar("_Limits", bound=Struct)


def limits_of(settings: Settings, kind: type[_Limits]) -> _Limits:
    """Return the settings that a part of the server asks for."""
    return kind(**{name: getattr(settings, name) for name in kind.__struct_fields__})
