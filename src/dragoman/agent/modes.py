"""Media types: what a skill takes and gives, read off its signature."""

from __future__ import annotations

import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
)
from typing import Any, Final

from dragoman.agent.files import File
from dragoman.agent.results import Reply
from dragoman.agent.signature import Kind, Signature, alternatives
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES
from dragoman.model.tasks import Artifact

__all__ = ("ANY", "JSON", "TEXT", "input_modes", "output_modes")

TEXT: Final = "text/plain"
JSON: Final = "application/json"
ANY: Final = "*/*"

_STREAMS: Final = (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
)
_BYTES: Final = frozenset[object]((bytes, bytearray))
_FILES: Final = frozenset[object]((File, Part, Artifact))
_UNTOLD: Final = frozenset[object]((Reply, Any, object, None, types.NoneType))
_UNKNOWN: Final = (TEXT, JSON)


def input_modes(signature: Signature) -> tuple[str, ...]:
    """Return what the parameters can be made of.

    A skill that takes the whole message, or only a context, may look at parts of any kind.
    """
    kinds = {p.kind for p in signature.parameters}
    takes_any = bool(kinds & {Kind.MESSAGE, Kind.FILE, Kind.FILES}) or kinds == {Kind.CONTEXT}
    takes_text = bool(kinds & {Kind.MESSAGE, Kind.TEXT}) or kinds <= {Kind.CONTEXT}
    takes_data = Kind.DATA in kinds or len(signature.texts) > 1
    chosen = ((TEXT, takes_text), (JSON, takes_data), (ANY, takes_any))
    return tuple(mode for mode, is_taken in chosen if is_taken)


def output_modes(annotation: object, *, is_generator: bool) -> tuple[str, ...]:
    """Return what the results can be, from the annotation of the result."""
    if is_generator and typing.get_origin(annotation) in _STREAMS:
        annotation = typing.get_args(annotation)[0]
    modes: dict[str, None] = {}
    for kind in alternatives(annotation):
        modes.update(dict.fromkeys(_modes_of(kind)))
    return tuple(modes) or _UNKNOWN


def _modes_of(kind: object) -> tuple[str, ...]:
    if kind is str:
        return (TEXT,)
    if kind in _BYTES:
        return (BYTES,)
    if kind in _FILES:
        return (ANY,)
    origin = typing.get_origin(kind) or kind
    if origin in (list, tuple) and set(typing.get_args(kind)) & {File, Part}:
        return (ANY,)
    if kind in _UNTOLD or not isinstance(origin, type):
        return _UNKNOWN
    return (JSON,)
