"""Contents: what MCP calls content blocks, and what A2A calls parts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import msgspec
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from msgspec import UNSET

from dragoman.model.base import is_object
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES

__all__ = ("parts_of", "result_of")


def parts_of(result: CallToolResult) -> tuple[Part, ...]:
    """Return what a tool has given back.

    What is structured becomes data; text that only repeats it is left out.
    """
    structured: object = result.structured_content
    blocks = [_part(block) for block in result.content if not _repeats(block, structured)]
    return (*(() if structured is None else (Part(data=structured),)), *blocks)


def result_of(parts: Sequence[Part], meta: dict[str, Any]) -> CallToolResult:
    """Return parts as the result of a tool.

    Data is structured content; older clients read the same as text.
    """
    data = [part.data for part in parts if part.data is not UNSET]
    structured: Any = {"data": data} if data else None
    if len(data) == 1 and is_object(data[0]):
        structured = data[0]
    blocks = [_block(part) for part in parts]
    return CallToolResult(content=blocks, structured_content=structured, _meta=meta)


def _repeats(block: ContentBlock, structured: object) -> bool:
    if structured is None or not isinstance(block, TextContent):
        return False
    try:
        return msgspec.json.decode(block.text) == structured
    except msgspec.DecodeError:
        return False


def _part(block: ContentBlock) -> Part:
    if isinstance(block, TextContent):
        return Part(text=block.text)
    if isinstance(block, ImageContent | AudioContent):
        return Part(raw=b64decode(block.data), media_type=block.mime_type)
    if isinstance(block, ResourceLink):
        return Part(url=str(block.uri), filename=block.name, media_type=block.mime_type or "")
    held = block.resource
    name = unquote(urlsplit(str(held.uri)).path.rpartition("/")[2])
    if isinstance(held, TextResourceContents):
        content, kind = held.text.encode(), held.mime_type or "text/plain"
    else:
        content, kind = b64decode(held.blob), held.mime_type or BYTES
    return Part(raw=content, filename=name, media_type=kind)


def _block(part: Part) -> ContentBlock:
    if part.text is not None:
        return TextContent(text=part.text)
    if part.raw is not None:
        return _file_block(part.raw, part)
    if part.url is not None:
        name = part.filename or part.url
        return ResourceLink(uri=part.url, name=name, mime_type=part.media_type or None)
    return TextContent(text=msgspec.json.encode(part.data).decode())


def _file_block(raw: bytes, part: Part) -> ContentBlock:
    content = b64encode(raw).decode()
    kind = part.media_type or BYTES
    if kind.startswith("image/"):
        return ImageContent(data=content, mime_type=kind)
    if kind.startswith("audio/"):
        return AudioContent(data=content, mime_type=kind)
    uri = f"attachment:///{quote(part.filename or 'file', safe='')}"
    return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=kind, blob=content))
