"""Media types as cards and requests list them: with wildcards, compared without case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, cast

from dragoman.errors import ContentTypeNotSupportedError
from dragoman.model.base import JsonObject
from dragoman.model.client_tools import TOOL_RESULT
from dragoman.model.parts import Part

__all__ = ("ANY", "JSON", "TEXT", "accepts", "check_parts")

TEXT: Final = "text/plain"
JSON: Final = "application/json"
ANY: Final = "*/*"

_LONGEST: Final = 100
"""Longer names are not remembered: callers choose them."""


def accepts(modes: Sequence[str], media_type: str) -> bool:
    """Tell whether a media type is among the modes, which may hold wildcards (``image/*``).

    Parameters such as ``charset`` do not count.
    """
    if len(media_type) > _LONGEST:
        return _accepts(modes, media_type)
    return _remembered(tuple(modes), media_type)


def check_parts(
    parts: Sequence[Part], modes: Sequence[str], *, taker: str, told: Sequence[str] | None = None
) -> None:
    """Raise ContentTypeNotSupportedError for a part that is not among the modes (R-3.1.1-1, Q-33).

    A tool result is the answer to something that the agent has asked for, whatever else it takes.

    Args:
        taker: who takes these modes, for the message.
        told: the modes that the message may name; all of them unless given.
    """
    for index, part in enumerate(parts):
        media_type = part.effective_media_type
        if not media_type or media_type in modes:
            continue
        if not accepts(modes, media_type) and not _is_tool_result(part):
            raise ContentTypeNotSupportedError(
                f"message.parts[{index}] is {media_type[:_LONGEST]}; "
                f"{taker} takes {', '.join(modes if told is None else told)}",
                metadata={"mediaType": media_type[:_LONGEST]},
            )


def _is_tool_result(part: Part) -> bool:
    data = part.data
    return isinstance(data, dict) and cast("JsonObject", data).get("kind") == TOOL_RESULT


def _accepts(modes: Sequence[str], media_type: str) -> bool:
    kind, subtype = _split(media_type)
    for mode in modes:
        mode_kind, mode_subtype = _split(mode)
        if mode_kind in ("*", kind) and mode_subtype in ("*", "", subtype):
            return True
    return False


_remembered = lru_cache(maxsize=1000)(_accepts)


def _split(media_type: str) -> tuple[str, str]:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, subtype
