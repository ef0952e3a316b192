"""How much a message may hold: at the limit it is taken, one beyond it is refused by name."""

from __future__ import annotations

import pytest

from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.server.admission.content import check_content
from dragoman.server.settings import ContentLimits

LIMITS = ContentLimits(max_text_length=10, max_part_bytes=20, max_metadata_bytes=30)


def request(
    *parts: Part, metadata: JsonObject | None = None, outer: JsonObject | None = None
) -> SendMessageRequest:
    message = Message(message_id="m", role=Role.USER, parts=parts, metadata=metadata)
    return SendMessageRequest(message=message, metadata=outer)


def noted(size: int) -> JsonObject:
    """Return metadata of so many bytes of JSON."""
    return {"a": "b" * (size - len('{"a":""}'))}


GOOD = Part(text="x")
TOO_LONG = "must not have more than 10 characters"
TOO_LARGE = "must not be larger than 20 bytes"
TOO_MUCH = "must not be larger than 30 bytes of JSON"


@pytest.mark.parametrize(
    ("taken", "refused", "field", "rule"),
    [
        (
            request(Part(text="x" * 10)),
            request(GOOD, Part(text="x" * 11)),
            "message.parts[1].text",
            TOO_LONG,
        ),
        # Characters, not bytes.
        (
            request(Part(text="é" * 10)),
            request(Part(text="é" * 11)),
            "message.parts[0].text",
            TOO_LONG,
        ),
        (
            request(Part(url="u" * 10)),
            request(Part(url="u" * 11)),
            "message.parts[0].url",
            TOO_LONG,
        ),
        (
            request(Part(raw=b"x" * 20)),
            request(Part(raw=b"x" * 21)),
            "message.parts[0].raw",
            TOO_LARGE,
        ),
        (
            request(Part(data="x" * 18)),
            request(Part(data="x" * 19)),
            "message.parts[0].data",
            TOO_LARGE,
        ),
        (
            request(Part(data=None)),
            request(Part(data=[0] * 11)),
            "message.parts[0].data",
            TOO_LARGE,
        ),
        (
            request(Part(text="x", metadata=noted(30))),
            request(GOOD, Part(text="x", metadata=noted(31))),
            "message.parts[1].metadata",
            TOO_MUCH,
        ),
        (
            request(GOOD, metadata=noted(30)),
            request(GOOD, metadata=noted(31)),
            "message.metadata",
            TOO_MUCH,
        ),
        (request(GOOD, outer=noted(30)), request(GOOD, outer=noted(31)), "metadata", TOO_MUCH),
    ],
)
def test_the_limit_is_taken_and_one_more_is_refused(
    taken: SendMessageRequest, refused: SendMessageRequest, field: str, rule: str
) -> None:
    check_content(taken, LIMITS)
    with pytest.raises(InvalidParamsError) as caught:
        check_content(refused, LIMITS)
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == (field, rule)
