from base64 import b64encode

import pytest
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

from dragoman.adapters.mcp.contents import parts_of, result_of
from dragoman.model.parts import Part

X = b64encode(b"x").decode()


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (TextContent(text="hi"), Part(text="hi")),
        (ImageContent(data=X, mime_type="image/png"), Part(raw=b"x", media_type="image/png")),
        (AudioContent(data=X, mime_type="audio/wav"), Part(raw=b"x", media_type="audio/wav")),
        (
            ResourceLink(uri="https://a.example/b", name="b", mime_type="text/html"),
            Part(url="https://a.example/b", filename="b", media_type="text/html"),
        ),
        (
            EmbeddedResource(
                resource=BlobResourceContents(
                    uri="attachment:///my%20bill.pdf", blob=X, mime_type="application/pdf"
                )
            ),
            Part(raw=b"x", filename="my bill.pdf", media_type="application/pdf"),
        ),
    ],
)
def test_a_block_is_a_part_and_back(block: ContentBlock, part: Part) -> None:
    assert parts_of(CallToolResult(content=[block])) == (part,)
    assert result_of((part,), {}).content == [block]


def test_text_of_a_resource_is_a_file() -> None:
    resource = TextResourceContents(uri="file:///notes/a.txt", text="hi")
    found = parts_of(CallToolResult(content=[EmbeddedResource(resource=resource)]))
    assert found == (Part(raw=b"hi", filename="a.txt", media_type="text/plain"),)


def test_text_that_repeats_what_is_structured_is_left_out() -> None:
    text, other = TextContent(text='{"a": 1}'), TextContent(text="done")
    result = CallToolResult(content=[text, other], structured_content={"a": 1})
    assert parts_of(result) == (Part(data={"a": 1}), Part(text="done"))


@pytest.mark.parametrize(
    ("data", "structured"),
    [
        ([{"a": 1}], {"a": 1}),
        ([[1, 2]], {"data": [[1, 2]]}),  # older clients take objects alone
        ([{"a": 1}, {"b": 2}], {"data": [{"a": 1}, {"b": 2}]}),
        ([None], {"data": [None]}),
        ([], None),
    ],
)
def test_data_is_structured_content(data: list[object], structured: object) -> None:
    result = result_of([Part(data=each) for each in data], {"note": 1})
    assert result.structured_content == structured
    assert len(result.content) == len(data)
    assert result.meta == {"note": 1}
