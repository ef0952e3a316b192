"""What a program says and hears, as values: text, data, files; and the parts that carry them."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, Protocol, TypeGuard, TypeVar, overload, runtime_checkable

import msgspec
from msgspec import UNSET, Struct

from dragoman.errors import UsageError
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES, is_model, to_plain_data, with_whole_numbers

__all__ = ("ReceivedFile", "data_of", "files_of", "parts_of", "typed")

_SENDABLE: Final = "text, bytes, a Path, a File, a Part"

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f<>:\"|?*]")
_UNNAMED: Final = "file"
_MOST_NAMES: Final = 1000

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
    message stay what they are. Everything else that JSON can hold becomes a data part: dicts,
    lists, dataclasses, Structs, pydantic models.

    Raises:
        UsageError: there is nothing to say, a file cannot be read, or JSON cannot hold it.
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
        case bytes() | bytearray():
            return (Part(raw=bytes(value), media_type=BYTES),)
        case memoryview():
            return (Part(raw=value.tobytes(), media_type=BYTES),)
        case HasPart():
            return (value.part(),)
        case _ if _is_content(value):
            return parts_of(value)
        case _:
            return (Part(data=to_plain_data(value, instead=_SENDABLE)),)


def _is_content(value: object) -> TypeGuard[Sequence[object]]:
    """Whether this is a list of things to say; any other list is data."""
    return (
        _is_sequence(value)
        and bool(value)
        and all(isinstance(item, Part | Path | HasPart) for item in value)
    )


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


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
        # By this msgspec knows that the type is not supported, and says so.
        raise NotImplementedError
    return kind.model_validate(value)


# --- files --------------------------------------------------------------------------------------


class ReceivedFile(Struct, frozen=True):
    """A file by value (``content``) or by reference (``url``), as the agent chose.

    Nothing is fetched: an address was chosen by the agent, and following it is the program's
    decision. What is received can be sent on as it is.
    """

    content: bytes | None = None
    name: str = ""
    media_type: str = ""
    url: str | None = None

    @classmethod
    def from_part(cls, part: Part) -> ReceivedFile:
        """Take the file out of a raw or url part."""
        return cls(content=part.raw, name=part.filename, media_type=part.media_type, url=part.url)

    def part(self) -> Part:
        """Return the part that carries this file."""
        return Part(raw=self.content, url=self.url, filename=self.name, media_type=self.media_type)

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            UsageError: the agent has sent an address instead of bytes.
        """
        if self.content is None:
            raise UsageError(
                f"file {self.name or '(unnamed)'} was sent as an address; fetch its url, "
                "after deciding whether to trust it"
            )
        return self.content

    def save(self, folder: str | Path = ".") -> Path:
        """Write it into a folder and return where it is.

        Of the name that the agent gave only the last part is used, and a file that exists is never
        overwritten: then a number is added to the name.

        Raises:
            UsageError: the agent has sent an address instead of bytes.
        """
        content = self.read()
        wanted = Path(folder) / _safe_name(self.name)
        for number in range(_MOST_NAMES):
            path = wanted.with_stem(f"{wanted.stem} ({number})") if number else wanted
            try:
                with path.open("xb") as file:
                    file.write(content)
            except FileExistsError:
                continue
            return path
        raise UsageError(f"{wanted} exists {_MOST_NAMES} times; save to another folder")


def _safe_name(name: str) -> str:
    """Return the last part of a name, whatever system it was made for."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    safe = _UNSAFE.sub("", last).strip(" .")
    return safe or _UNNAMED
