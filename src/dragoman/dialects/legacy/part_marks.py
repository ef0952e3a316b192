"""What old forms cannot say about a part, said in the part's metadata.

A mark is written when a part goes down to an old form, or when something that 1.0 has no place for
comes up from one, and it is undone on the way back (0.x reference, 5.7). 0.1 and 0.2/0.3 agree on
everything but the name of the discriminator (``type``, ``kind``), which is left to them.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dragoman.model.base import JsonObject, is_object
from dragoman.model.client_tools import TOOL_RESULT
from dragoman.model.parts import Part

__all__ = (
    "FILE_REFERENCE",
    "UNKNOWN_KIND",
    "URI",
    "lift_part",
    "lower_part",
    "spell_part",
    "without_tool_mark",
)

DATA_COMPAT: Final = "data_part_compat"
"""Data that is not an object travels as ``{"value": ...}``."""

V1: Final = "a2a.v1"
"""``mimeType`` and ``filename`` beside it are the part's own, not the sender's metadata."""

UNKNOWN_KIND: Final = "a2a.v0.kind"
"""The data is a whole part of this kind, which the model does not know."""

FILE_REFERENCE: Final = "a2a.v0.fileReference"
"""The data is the name and type of a file that did not travel."""

URI: Final = "a2a.v0.uri"
"""The file had this address too; its bytes won."""

_JSON: Final = "application/json"


def lift_part(part: Part) -> Part:
    """Undo the marks of a part that has come up."""
    if not part.metadata:
        return part
    metadata = dict(part.metadata)
    data, media_type, filename = part.data, part.media_type, part.filename
    if metadata.get(DATA_COMPAT) is True and is_object(data) and data.keys() == {"value"}:
        del metadata[DATA_COMPAT]
        data = data["value"]
    if metadata.get(V1) is True and part.kind in ("text", "data"):
        del metadata[V1]
        media_type = _pop_text(metadata, "mimeType") or media_type
        filename = _pop_text(metadata, "filename") or filename
    if len(metadata) == len(part.metadata):
        return part
    return replace(
        part, data=data, media_type=media_type, filename=filename, metadata=metadata or None
    )


def lower_part(part: Part) -> tuple[str, JsonObject]:
    """Return the kind of a part and its members in an old form, without the discriminator.

    The kind is "" for a part of a kind that the model does not know: the members are the part as
    it came, discriminator included.
    """
    metadata = part.metadata
    if part.text is not None:
        return "text", _members("text", part.text, _described(part, part.media_type))
    if part.raw is not None:
        return "file", _members("file", _file(part, "bytes", part.raw), metadata)
    if part.url is not None:
        return "file", _members("file", _file(part, "uri", part.url), metadata)
    data = part.data
    if not is_object(data):
        marked = {**(_described_data(part) or {}), DATA_COMPAT: True}
        return "data", _members("data", {"value": data}, marked)
    if metadata and isinstance(metadata.get(UNKNOWN_KIND), str):
        return "", data
    if metadata and metadata.get(FILE_REFERENCE) is True:
        rest = {name: value for name, value in metadata.items() if name != FILE_REFERENCE}
        return "file", _members("file", data, rest or None)
    return "data", _members("data", data, _described_data(part))


def without_tool_mark(part: Part) -> Part:
    """Return what came as a part of the kind of a tool's result as data, as other forms have it."""
    if part.metadata is None or part.metadata.get(UNKNOWN_KIND) != TOOL_RESULT:
        return part
    return replace(part, metadata=None)


def spell_part(part: Part, discriminators: tuple[str, ...]) -> JsonObject:
    """Return a part in an old form that says what it is in all of these members, which lead."""
    kind, members = lower_part(part)
    return {**dict.fromkeys(discriminators, kind), **members} if kind else members


def _members(name: str, content: object, metadata: JsonObject | None) -> JsonObject:
    if metadata is None:
        return {name: content}
    return {name: content, "metadata": metadata}


def _file(part: Part, name: str, content: bytes | str) -> JsonObject:
    file: JsonObject = {name: content}
    if part.filename:
        file["name"] = part.filename
    if part.media_type:
        file["mimeType"] = part.media_type
    return file


def _described_data(part: Part) -> JsonObject | None:
    # What data is taken for anyway need not be said.
    return _described(part, "" if part.media_type == _JSON else part.media_type)


def _described(part: Part, media_type: str) -> JsonObject | None:
    if not media_type and not part.filename:
        return part.metadata
    metadata: JsonObject = {**(part.metadata or {}), V1: True}
    if media_type:
        metadata["mimeType"] = media_type
    if part.filename:
        metadata["filename"] = part.filename
    return metadata


def _pop_text(metadata: JsonObject, name: str) -> str:
    value = metadata.get(name)
    if not isinstance(value, str):
        return ""
    del metadata[name]
    return value
