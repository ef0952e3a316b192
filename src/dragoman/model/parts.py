"""Part: one piece of content."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from dragoman.model.base import JsonObject, Value

__all__ = ("Part", "PartKind")

_ONE_OF = "needs exactly one of text, raw, url, data"

PartKind = Literal["text", "raw", "url", "data"]


class Part(Value, frozen=True, kw_only=True):
    """One piece of content: exactly one of ``text``, ``raw``, ``url``, ``data`` is set.

    ``data`` may be any JSON value, ``None`` included, so its absence is ``UNSET``.
    """

    text: str | None = None
    raw: bytes | None = None
    url: str | None = None
    data: object = UNSET
    metadata: JsonObject | None = None
    filename: str = ""
    media_type: str = ""

    def __post_init__(self) -> None:
        """Hold the union closed (R-4.1.6-1)."""
        members = (
            (self.text is not None)
            + (self.raw is not None)
            + (self.url is not None)
            + (self.data is not UNSET)
        )
        if members != 1:
            raise ValueError(_ONE_OF)

    @property
    def kind(self) -> PartKind:
        """Tell which member is set."""
        if self.text is not None:
            return "text"
        if self.raw is not None:
            return "raw"
        if self.url is not None:
            return "url"
        return "data"

    @property
    def effective_media_type(self) -> str:
        """Return the media type, inferred where the sender left it out (Q-33); "" if unknown."""
        if self.media_type:
            return self.media_type
        if self.text is not None:
            return "text/plain"
        if self.data is not UNSET:
            return "application/json"
        return ""
