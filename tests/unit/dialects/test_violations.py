import msgspec
import pytest

from dragoman.dialects.violations import refusal_of, violation_of
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.cards import AgentCard
from dragoman.model.operations import ListTasksRequest, SendMessageRequest

MESSAGE = '{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},%s]}'


def violation(kind: type[msgspec.Struct], body: str) -> FieldViolation:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(body, type=kind)
    return violation_of(caught.value)


@pytest.mark.parametrize(
    ("body", "field", "description"),
    [
        ("[]", "", "expected object, got array"),
        ("{}", "message", "is required"),
        ('{"message":{}}', "message.messageId", "is required"),
        ('{"message":null}', "message", "expected object, got null"),
        ('{"message":{"messageId":""}}', "message.messageId", "must not be empty"),
        (
            '{"message":%s}' % (MESSAGE % '{"text":5}'),
            "message.parts[1].text",
            "expected string, got integer",
        ),
        (
            '{"message":%s}' % (MESSAGE % "{}"),
            "message.parts[1]",
            "needs exactly one of text, raw, url, data",
        ),
        ('{"message":%s}' % (MESSAGE % '{"raw":"%"}'), "message.parts[1].raw", "is not base64"),
        (
            '{"message":%s}' % (MESSAGE % '{"raw":5}'),
            "message.parts[1].raw",
            "expected base64 string, got integer",
        ),
        (
            '{"message":%s}' % (MESSAGE % '{"data":[{"x":1e999}]}'),
            "message.parts[1].data[0][*]",
            "holds a number that is out of range",
        ),
        (
            '{"message":{"messageId":"m","role":"user"}}',
            "message.role",
            "is not one of the known values",
        ),
    ],
)
def test_a_violation_names_the_field_and_what_is_expected(
    body: str, field: str, description: str
) -> None:
    assert violation(SendMessageRequest, body) == FieldViolation(field, description)


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ('{"pageSize":0}', "must be at least 1"),
        ('{"pageSize":101}', "must be at most 100"),
        # More digits than Python turns into a number.
        ('{"pageSize":%s}' % ("9" * 5000), "holds a number that is out of range"),
        ('{"pageSize":true}', "expected integer, got boolean"),
        ('{"pageSize":1.5}', "expected integer, got number"),
    ],
)
def test_bounds_are_told(body: str, description: str) -> None:
    assert violation(ListTasksRequest, body) == FieldViolation("pageSize", description)


def test_the_key_of_a_map_is_not_known() -> None:
    body = '{"name":"a","securitySchemes":{"k":{"apiKeySecurityScheme":{}}}}'
    assert violation(AgentCard, body) == FieldViolation(
        "securitySchemes[*].apiKeySecurityScheme.location", "is required"
    )


def test_each_complaint_becomes_the_error_it_is() -> None:
    unicode = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert isinstance(refusal_of(msgspec.ValidationError("x")), InvalidParamsError)
    for complaint in (msgspec.DecodeError("x"), unicode, RecursionError("x")):
        refusal = refusal_of(complaint)
        assert isinstance(refusal, JSONParseError)
        assert refusal.message.startswith("The body is n")
