"""ReceivedFile: a file that an agent has sent."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from msgspec import Struct

from dragoman.errors import UsageError
from dragoman.model.parts import Part

__all__ = ("ReceivedFile",)

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f<>:\"|?*]")
_UNNAMED: Final = "file"
_MOST_NAMES: Final = 1000


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
