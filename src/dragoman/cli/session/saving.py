"""Saving the parts of artifacts as files.

Names come from the agent and are not trusted: only the base name counts, nothing is written outside
the folder, and an existing file is not touched unless that was asked for.
"""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.cli.views.labels import cleaned
from dragoman.errors import UsageError
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

__all__ = ("SavedFile", "plan_files", "write_files")

_MAX_NAME: Final = 200
"""File systems take 255 bytes; a number and an extension may be added."""

_TEXT: Final = "text/plain"
_JSON: Final = "application/json"
_EXTENSIONS: Final = {_TEXT: ".txt", _JSON: ".json"}


class SavedFile(Struct, frozen=True):
    """A file to write, or that was written: its name in the folder, its type and its content."""

    name: str
    media_type: str
    content: bytes


def plan_files(artifacts: Iterable[Artifact], *, only_files: bool) -> tuple[SavedFile, ...]:
    """Return the files that artifacts make.

    Parts of one artifact with the same name are one file, in their order. A name that another
    artifact has used gets a number.

    Args:
        only_files: leave out text and data, which are no files.
    """
    files: dict[str, SavedFile] = {}
    for artifact in artifacts:
        own: dict[str, SavedFile] = {}
        for part in artifact.parts:
            content = _content(part, only_files=only_files)
            if content is None:
                continue
            name = _name(part, artifact)
            before = own[name].content if name in own else b""
            own[name] = SavedFile(name, part.effective_media_type, before + content)
        for name, file in own.items():
            free = next(each for each in _numbered(name) if each not in files)
            files[free] = msgspec.structs.replace(file, name=free)
    return tuple(files.values())


def write_files(files: Iterable[SavedFile], folder: Path, *, overwrite: bool) -> None:
    """Write files, each as a whole or not at all.

    Raises:
        UsageError: one exists and is not to be overwritten, or cannot be written.
    """
    files = tuple(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [file.name for file in files if (folder / file.name).exists()]
        if taken and not overwrite:
            raise UsageError(f"{folder / taken[0]} exists; add --overwrite to replace it")
        for file in files:
            _write(folder / file.name, file.content)
    except OSError as problem:
        place = problem.filename or folder
        raise UsageError(f"cannot write {place}: {problem.strerror or 'failed'}") from None


def _content(part: Part, *, only_files: bool) -> bytes | None:
    """Return the bytes of a part, None if it has none to save; an address is fetched elsewhere."""
    if part.raw is not None:
        return part.raw
    if part.url is not None or only_files:
        return None
    if part.text is not None:
        return part.text.encode("utf-8", "replace")
    return msgspec.json.format(msgspec.json.encode(part.data), indent=2) + b"\n"


def _name(part: Part, artifact: Artifact) -> str:
    wanted = map(_base_name, (part.filename, artifact.name, artifact.artifact_id))
    name = next((name for name in wanted if name), "artifact")
    if PurePosixPath(name).suffix:
        return name
    media_type = part.effective_media_type.partition(";")[0].strip().lower()
    return name + (_EXTENSIONS.get(media_type) or mimetypes.guess_extension(media_type) or "")


def _base_name(name: str) -> str:
    """Return a name that stays in its folder, "" if nothing is left of it."""
    base = cleaned(name).replace("\\", "/").rpartition("/")[2].strip()
    return "" if base in ("", ".", "..") else base[:_MAX_NAME]


def _numbered(name: str) -> Iterator[str]:
    yield name
    path = PurePosixPath(name)
    number = 1
    while True:
        yield f"{path.stem} ({number}){path.suffix}"
        number += 1


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    # The mask of the user takes away from these rights what it takes from every file.
    with open(os.open(temporary, flags, 0o644), "wb") as file:
        file.write(content)
    temporary.replace(path)
