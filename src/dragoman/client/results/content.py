"""What a program says and hears, as values: text, data, files; and the parts that carry them."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast, overload, runtime_checkable

import msgspec
from msgspec import UNSET

from dragoman.client.results.files import ReceivedFile
from dragoman.errors import UsageError
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES, is_model, to_plain_data, with_whole_numbers

__all__ = ("data_of", "files_of", "parts_of", "typed")

_SENDABLE: Final = "text, bytes, a Path, a File, a Part"

T = TypeVar("T")


@runtime_checkable
class HasPart(Protocol):
    """A file, to be sent or received."""

    def part(self) -> Part:
        """Return the part that carries it."""
        ...


# --- what is said -------------------------------------------------------------------------------


def parts_of(content: Sequence[object]) -> tuple[Part, ...]:
    """Turn what a program says into parts, in its order.

    Text becomes a text part; a ``Path``, bytes or a file a file part; parts and the parts of a
    message stay what they are. Everything else that JSON can express becomes a data part: dicts,
    lists, dataclasses, Structs, pydantic models.

    Raises:
        UsageError: there is nothing to say, a file cannot be read, or JSON cannot express it.
    """
    parts = tuple(part for value in content for part in _parts_of(value))
    if not parts:
        raise UsageError("there is nothing to send: give a text, a file or data")
    return parts


def _parts_of(value: object) -> tuple[Part, ...]:
    match value:
        case str():
            return (Part(text=value),)
        case Part():
            return (value,)
        case Message():
            return value.parts
        case Path():
            return (_file_part(value),)
        case bytes() | bytearray() | memoryview():
            return (Part(raw=bytes(cast("bytes", value)), media_type=BYTES),)
        case HasPart():
            return (value.part(),)
        case list() | tuple() if _is_content(cast("Sequence[object]", value)):
            return parts_of(cast("Sequence[object]", value))
        case _:
            return (Part(data=to_plain_data(value, instead=_SENDABLE)),)


def _is_content(items: Sequence[object]) -> bool:
    """Tell a list of things to say from a list that is data."""
    return bool(items) and all(isinstance(item, Part | Path | HasPart) for item in items)


def _file_part(path: Path) -> Part:
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from None
    return Part(
        raw=content, filename=path.name, media_type=mimetypes.guess_type(path.name)[0] or BYTES
    )


# --- what is heard ------------------------------------------------------------------------------


def data_of(parts: Iterable[Part]) -> tuple[object, ...]:
    """Return the values of the data parts."""
    return tuple(part.data for part in parts if part.data is not UNSET)


def files_of(parts: Iterable[Part]) -> tuple[ReceivedFile, ...]:
    """Return the files."""
    return tuple(
        ReceivedFile.from_part(part)
        for part in parts
        if part.raw is not None or part.url is not None
    )


@overload
def typed(parts: tuple[Part, ...], kind: type[T]) -> T: ...
@overload
def typed(parts: tuple[Part, ...], kind: object) -> object: ...


def typed(parts: tuple[Part, ...], kind: object) -> object:
    """Read the first data part, or else the text, as a type.

    Raises:
        ValueError: it does not fit; says where.
    """
    for value in data_of(parts):
        return _convert(with_whole_numbers(value), kind)
    return _convert(text_of(parts), kind, is_strict=False)


def _convert(value: object, kind: object, *, is_strict: bool = True) -> object:
    # msgspec.ValidationError is a ValueError, as is pydantic's.
    return msgspec.convert(value, type=kind, strict=is_strict, dec_hook=_validate_model)


def _validate_model(kind: type, value: object) -> object:
    if kind is object:
        return value
    if not is_model(kind):
        raise NotImplementedError
    return kind.model_validate(value)
