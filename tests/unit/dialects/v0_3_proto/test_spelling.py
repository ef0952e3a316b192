"""The names a member is read by."""

import pytest

from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.spelling import Form
from dragoman.errors import InvalidParamsError, JSONParseError

SEND = Form(wire.SendMessageRequest)
STATUS = Form(wire.TaskStatus)
FRAME = Form(wire.StreamResponse)

DEEP = b'{"metadata":' + b'{"a":' * 100_000
MESSAGE = wire.Message(message_id="m", task_id="t", content=(wire.Part(text="x"),))


@pytest.mark.parametrize(
    "body",
    [
        b'{"message":{"messageId":"m","taskId":"t","content":[{"text":"x"}]}}',
        b'{"message":{"message_id":"m","task_id":"t","content":[{"text":"x"}]}}',
        b'{"request":{"message_id":"m","taskId":"t","content":[{"text":"x"}]}}',
        b'{"request":{"messageId":"m","taskId":"t","content":[{"text":"x"}]},"message":null}',
        b'{ "message" : {"message_id" :\t"m","taskId":"t","content":[{"text":"x"}]}, "new": 1}',
    ],
)
def test_json_names_and_proto_names_are_read(body: bytes) -> None:
    assert SEND.decode(body) == wire.SendMessageRequest(message=MESSAGE)


def test_the_names_of_early_versions_are_read() -> None:
    message = wire.Message(message_id="m")
    assert STATUS.decode(b'{"update":{"messageId":"m"}}') == wire.TaskStatus(message=message)
    assert FRAME.decode(b'{"msg":{"messageId":"m"}}') == wire.StreamResponse(message=message)


def test_the_schema_s_name_of_the_webhook_is_read() -> None:
    body = b'{"configuration":{"pushNotificationConfig":{"url":"u"}}}'
    configuration = SEND.decode(body).configuration
    assert configuration is not None
    assert configuration.push_notification == wire.PushNotificationConfig(url="u")


def test_free_json_keeps_its_names() -> None:
    body = b'{"message":{"message_id":"m","metadata":{"task_id":null}},"metadata":{"request":[1]}}'
    found = SEND.decode(body)
    assert found.metadata == {"request": [1]}
    assert found.message == wire.Message(message_id="m", metadata={"task_id": None})


@pytest.mark.parametrize(
    ("body", "field", "description"),
    [
        (b'{"message":{},"request":{}}', "message", "is given in two spellings"),
        (
            b'{"message":{"parts":[{}],"task_id":"t","taskId":"t"}}',
            "message.taskId",
            "is given in two spellings",
        ),
        (b'{"message":{"messageId":1}}', "message.messageId", "expected string, got integer"),
        (b'{"request":{"message_id":1}}', "message.messageId", "expected string, got integer"),
        (b'{"message":{"content":["x"]}}', "message.content[0]", "expected object, got string"),
        (b'{"request":{"content":["x"]}}', "message.content[0]", "expected object, got string"),
        (b'{"request":[]}', "message", "expected object, got array"),
        (b"[]", "", "expected object, got array"),
    ],
)
def test_what_is_wrong_is_named_by_its_json_name(body: bytes, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        SEND.decode(body)
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == (field, description)


@pytest.mark.parametrize("body", [b"", b"{", b'{"task_id":', b"\xff", b'"\xff', DEEP])
def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    with pytest.raises(JSONParseError):
        SEND.decode(body)


def test_a_number_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidParamsError):
        SEND.decode(b'{"metadata":{"request":1e999}}')


def test_texts_of_a_query_are_read_as_what_they_stand_for() -> None:
    listing = Form(wire.ListTasksRequest)
    texts = {"context_id": "5", "includeArtifacts": "true", "pageSize": "5", "other": "x"}
    assert listing.convert(texts, is_text=True) == wire.ListTasksRequest(
        context_id="5", include_artifacts=True, page_size="5"
    )
