"""File: what a skill is given for a file part, and may return to make one."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from msgspec import Struct

from dragoman.errors import UsageError
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES

__all__ = ("File",)


class File(Struct, frozen=True):
    """A file by value (``content``) or by reference (``url``): exactly one of them is set.

    Nothing is fetched: a file that came as an address stays one, and reading it is the author's
    decision, since the address was chosen by a peer.
    """

    content: bytes | None = None
    name: str = ""
    media_type: str = ""
    url: str | None = None

    def __post_init__(self) -> None:
        """Hold the choice closed."""
        if (self.content is None) == (self.url is None):
            raise UsageError("File needs exactly one of content, url")

    @classmethod
    def from_path(cls, path: str | Path, *, media_type: str | None = None) -> File:
        """Read a file from disk; its media type is guessed from the name unless given."""
        path = Path(path)
        guess = media_type or mimetypes.guess_type(path.name)[0] or BYTES
        return cls(content=path.read_bytes(), name=path.name, media_type=guess)

    @classmethod
    def from_part(cls, part: Part) -> File:
        """Take the file out of a raw or url part."""
        return cls(content=part.raw, name=part.filename, media_type=part.media_type, url=part.url)

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            UsageError: the peer sent an address instead of bytes.
        """
        if self.content is None:
            raise UsageError(
                f"file {self.name or '(unnamed)'} was sent as an address; fetch File.url, "
                "after deciding whether to trust it"
            )
        return self.content

    def part(self) -> Part:
        """Return the part that carries this file."""
        return Part(raw=self.content, url=self.url, filename=self.name, media_type=self.media_type)
