"""How much a message may hold: its texts, files and data, and what is said about them."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct

from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part

__all__ = ("ContentLimits",)

_encode = msgspec.json.Encoder().encode


class ContentLimits(Struct, frozen=True, kw_only=True):
    """The settings of the server that matter here, by their names there."""

    max_text_length: int
    max_part_bytes: int
    max_metadata_bytes: int

    def check(self, request: SendMessageRequest) -> None:
        """Raise InvalidParamsError, naming the field, for a message that holds too much."""
        message = request.message
        if request.metadata is not None:
            self._check_metadata(request.metadata, "metadata")
        if message.metadata is not None:
            self._check_metadata(message.metadata, "message.metadata")
        for index, part in enumerate(message.parts):
            text = part.text
            if text is None:
                self._check_content(part, index)
            elif len(text) > self.max_text_length:
                raise self._too_long(index, "text")
            if part.metadata is not None:
                self._check_metadata(part.metadata, f"message.parts[{index}].metadata")

    def _check_content(self, part: Part, index: int) -> None:
        if part.url is not None:
            if len(part.url) > self.max_text_length:
                raise self._too_long(index, "url")
        elif part.raw is not None:
            if len(part.raw) > self.max_part_bytes:
                raise self._too_large(index, "raw")
        elif part.data is not UNSET and len(_encode(part.data)) > self.max_part_bytes:
            raise self._too_large(index, "data")

    def _check_metadata(self, metadata: JsonObject, field: str) -> None:
        if len(_encode(metadata)) > self.max_metadata_bytes:
            raise InvalidParamsError.of(
                field, f"must not be larger than {self.max_metadata_bytes} bytes of JSON"
            )

    def _too_long(self, index: int, member: str) -> InvalidParamsError:
        return InvalidParamsError.of(
            f"message.parts[{index}].{member}",
            f"must not have more than {self.max_text_length} characters",
        )

    def _too_large(self, index: int, member: str) -> InvalidParamsError:
        return InvalidParamsError.of(
            f"message.parts[{index}].{member}",
            f"must not be larger than {self.max_part_bytes} bytes",
        )
