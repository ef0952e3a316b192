import msgspec
import pytest

from dragoman.dialects.v0_3.wire import DataPart, FilePart, Message, MessageSendParams, TextPart

decode = msgspec.json.Decoder(MessageSendParams).decode


def body(message: str) -> bytes:
    return b'{"message":{"messageId":"m","role":"user","parts":[%b]}}' % message.encode()


def test_a_well_formed_send_is_one_typed_decode() -> None:
    parts = (
        '{"kind":"text","text":"x"},{"kind":"file","file":{"uri":"u"}},'
        '{"kind":"data","data":{"a":1},"metadata":{}}'
    )
    assert decode(body(parts)).message == Message(
        message_id="m",
        role="user",
        parts=(
            TextPart(text="x"),
            FilePart(file={"uri": "u"}),
            DataPart(data={"a": 1}, metadata={}),
        ),
    )


@pytest.mark.parametrize("kind", ["", '"kind":"message",'])
def test_the_kind_of_a_message_may_be_missing(kind: str) -> None:
    params = '{"message":{%s"messageId":"m","role":"agent","parts":[{"kind":"text","text":""}]}}'
    assert decode((params % kind).encode()).message.role == "agent"


@pytest.mark.parametrize(
    "parts",
    [
        "",
        '{"text":"x"}',
        '{"type":"text","text":"x"}',
        '{"kind":"tool-use"}',
        '{"kind":"data","data":[1]}',
        '{"kind":"text","text":"x","metadata":5}',
    ],
)
def test_what_needs_a_tolerant_reader_does_not_fit(parts: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(body(parts))
