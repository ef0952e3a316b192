"""The parts of a message, as the command line lists them.

The order on the command line is the order in the message, and ``--media-type`` belongs to the part
just before it, so the flags are looked at one by one.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from dragoman.cli.options.options import Option
from dragoman.cli.options.settings import Given
from dragoman.errors import UsageError
from dragoman.model.parts import Part

__all__ = ("PART_OPTIONS", "build_parts", "file_part")

_TEXT: Final = Option[str | None](
    name="text",
    metavar="TEXT",
    read=str,
    aliases=("--text-part",),
    default=None,
    is_configurable=False,
    help="text to send; part flags may be repeated and keep their order",
)
_FILE: Final = Option[str | None](
    name="file",
    metavar="PATH|URL",
    aliases=("--file-part",),
    default=None,
    is_configurable=False,
    help="file to send; of a URL, only the address is sent",
)
_DATA: Final = Option[str | None](
    name="data",
    metavar="PATH|JSON|-",
    aliases=("--data-part",),
    default=None,
    is_configurable=False,
    help="JSON to send, from a file, from standard input (-) or as it stands",
)
_MEDIA_TYPE: Final = Option[str | None](
    name="media-type",
    metavar="TYPE",
    default=None,
    is_configurable=False,
    help="media type of the part before it; else it is guessed from the name of a file",
)

PART_OPTIONS: Final[tuple[Option[object], ...]] = (_TEXT, _FILE, _DATA, _MEDIA_TYPE)

_BY_REFERENCE: Final = frozenset({"http", "https", "s3", "gs", "ftp"})
_STDIN: Final = "-"


def build_parts(
    text: str | None, given: Iterable[Given], folder: Path, stdin: BinaryIO
) -> tuple[Part, ...]:
    """Return the parts: the text argument first, then what the flags say.

    Args:
        text: the argument; "-" stands for standard input.

    Raises:
        UsageError: there is none, or one of them cannot be made.
    """
    flags = [one for one in given if one.option in PART_OPTIONS]
    readers = [one for one in flags if one.option is _DATA and one.text == _STDIN]
    if len(readers) + (text == _STDIN) > 1:
        raise UsageError("standard input can be read only once")
    parts: list[Part] = []
    if text is not None:
        parts.append(Part(text=_read_text(stdin) if text == _STDIN else text))
    may_be_typed = False
    for one in flags:
        if one.option is not _MEDIA_TYPE:
            parts.append(_part(one, folder, stdin))
        elif may_be_typed:
            parts[-1] = replace(parts[-1], media_type=one.text)
        else:
            raise UsageError("--media-type must follow the part that it is for")
        may_be_typed = one.option is not _MEDIA_TYPE
    if not parts:
        raise UsageError("there is nothing to send: give a text, or --text, --file or --data")
    return tuple(parts)


def _part(given: Given, folder: Path, stdin: BinaryIO) -> Part:
    if given.option is _TEXT:
        return Part(text=given.text)
    if given.option is _DATA:
        return Part(data=_read_data(given.text, folder, stdin))
    return file_part(given.text, folder)


def file_part(place: str, folder: Path) -> Part:
    """Return the part of a file: its content, or of a URL its address.

    Raises:
        UsageError: it cannot be read.
    """
    url = urlsplit(place)
    guess = mimetypes.guess_type(url.path if url.scheme in _BY_REFERENCE else place)[0] or ""
    if url.scheme in _BY_REFERENCE:
        return Part(url=place, media_type=guess)
    path = folder / (unquote(url.path) if url.scheme == "file" else place)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"cannot read {place}: {_reason(problem)}") from None
    return Part(raw=content, filename=path.name, media_type=guess)


def _read_data(place: str, folder: Path, stdin: BinaryIO) -> object:
    if place == _STDIN:
        return _parsed(_read_text(stdin), "standard input")
    path = folder / place
    try:
        if path.is_file():
            return _parsed(path.read_text("utf-8"), place)
    except OSError as problem:
        raise UsageError(f"cannot read {place}: {_reason(problem)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {place}: it is not in UTF-8") from None
    try:
        return json.loads(place)
    except ValueError:
        raise UsageError(f"{place!r} is neither a file nor JSON") from None


def _read_text(stdin: BinaryIO) -> str:
    try:
        return stdin.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("standard input is not in UTF-8") from None


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise UsageError(f"{place} is not JSON: {problem}") from None


def _reason(problem: OSError) -> str:
    return (problem.strerror or "failed").lower()
