import math
from base64 import b64encode

import msgspec.inspect as shapes
import pytest
from google.protobuf.descriptor import FieldDescriptor
from msgspec import Struct

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.plain import shape_of
from dragoman.bindings.grpc.well_known import Proto, UnreadableError
from dragoman.model.operations import Empty
from tests.support.strategies import BY_TYPE

# The types of the model that are messages of 1.0.
KINDS = [kind for kind in BY_TYPE if kind is not Empty]


def message_of(kind: type[Struct]) -> Proto:
    return message_class(f"lf.a2a.v1.{kind.__name__}")()


def fields_of(kind: type[Struct]) -> tuple[shapes.Field, ...]:
    info = shapes.type_info(kind)
    assert isinstance(info, shapes.StructType)
    return info.fields


def read(message: Proto) -> dict[str, object]:
    return shape_of(message.DESCRIPTOR).read(message)


def written(name: str, plain: dict[str, object]) -> Proto:
    message: Proto = message_class(name)()
    shape_of(message.DESCRIPTOR).write(message, plain)
    return message


@pytest.mark.requirement("R-10.1-3")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_members_of_the_model_are_the_fields_of_the_proto(kind: type[Struct]) -> None:
    fields = {field.name: field.json_name for field in message_of(kind).DESCRIPTOR.fields}
    assert fields == {field.name: field.encode_name for field in fields_of(kind)}


def is_zero(field: shapes.Field) -> bool:
    """Tell whether a required member may be at the zero value that protobuf leaves out."""
    match field.type:
        case shapes.StrType() | shapes.VarTupleType():
            return not field.type.min_length
        case shapes.IntType() | shapes.DictType():
            return True
        case _:
            return False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_model_needs_at_its_zero_value_is_always_there(kind: type[Struct]) -> None:
    needed = {field.encode_name for field in fields_of(kind) if field.required and is_zero(field)}
    assert read(message_of(kind)).keys() == needed


def test_zero_values_are_of_the_right_kind() -> None:
    assert read(message_class("lf.a2a.v1.ListTasksResponse")()) == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 0,
        "totalSize": 0,
    }
    assert read(message_class("lf.a2a.v1.ClientCredentialsOAuthFlow")()) == {"scopes": {}}


EVERYTHING: dict[str, object] = {
    "name": "N",
    "documentationUrl": "",
    "capabilities": {"streaming": False, "extensions": [{"uri": "u", "params": {"a": [1, None]}}]},
    "securitySchemes": {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "k"}},
        "tls": {"mtlsSecurityScheme": {}},
    },
    "securityRequirements": [{"schemes": {"key": {}, "tls": {"list": ["a", "b"]}}}],
    "defaultInputModes": ["text/plain"],
    "signatures": [{"protected": "p", "signature": "s", "header": {}}],
}


def test_nested_messages_lists_and_maps_read_back() -> None:
    kind = message_class("lf.a2a.v1.AgentCard")
    card = kind.FromString(written("lf.a2a.v1.AgentCard", EVERYTHING).SerializeToString())
    assert read(card) == {**read(kind()), **EVERYTHING}


def test_an_empty_message_is_not_an_absent_one() -> None:
    assert read(written("lf.a2a.v1.AgentCard", {"capabilities": {}}))["capabilities"] == {}
    assert "capabilities" not in read(written("lf.a2a.v1.AgentCard", {}))
    assert read(written("lf.a2a.v1.Task", {"metadata": {}})) == {"metadata": {}}


@pytest.mark.parametrize("content", [b"", b"\x00\xff"])
def test_bytes_are_written_from_bytes_or_base64_and_read_as_bytes(content: bytes) -> None:
    for given in (content, b64encode(content).decode()):
        assert read(written("lf.a2a.v1.Part", {"raw": given})) == {"raw": content}


def test_a_member_of_a_union_is_read_even_at_its_zero_value() -> None:
    assert read(written("lf.a2a.v1.Part", {"text": ""})) == {"text": ""}
    assert read(written("lf.a2a.v1.Part", {"data": None})) == {"data": None}


def test_enums_have_names() -> None:
    status = written("lf.a2a.v1.TaskStatus", {"state": "TASK_STATE_CANCELED"})
    assert status.state == 5
    assert read(status) == {"state": "TASK_STATE_CANCELED"}
    status.state = 99
    assert read(status) == {"state": "TASK_STATE_99"}
    status.state = 0
    assert read(status) == {}
    assert written("lf.a2a.v1.TaskStatus", {"state": "TASK_STATE_PAUSED"}).state == 0


def test_a_place_that_cannot_be_read_is_named() -> None:
    message: Proto = message_class("lf.a2a.v1.SendMessageRequest")()
    message.message.parts.add().text = "hi"
    message.message.parts.add().data.list_value.values.add().number_value = math.nan
    with pytest.raises(UnreadableError) as caught:
        read(message)
    assert caught.value.path == "message.parts[1].data"


@pytest.mark.parametrize("package", ["lf.a2a.v1", "a2a.v1"])
def test_no_message_has_a_kind_of_field_that_we_do_not_know(package: str) -> None:
    known = {
        FieldDescriptor.TYPE_STRING,
        FieldDescriptor.TYPE_BYTES,
        FieldDescriptor.TYPE_BOOL,
        FieldDescriptor.TYPE_INT32,
        FieldDescriptor.TYPE_ENUM,
        FieldDescriptor.TYPE_MESSAGE,
    }
    file = message_class(f"{package}.Task").DESCRIPTOR.file
    for message in file.message_types_by_name.values():
        assert {field.type for field in message.fields} <= known
        assert not any(field.enum_type and field.is_repeated for field in message.fields)
