"""A rejected twin for every REQUIRED field, found by walking the Structs."""

from collections.abc import Iterator

import msgspec
import msgspec.inspect as shapes
import pytest
from msgspec import Struct

from dragoman.dialects.v1_0.decode import Form
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.events import StreamResponse
from dragoman.model.operations import SendMessageResponse
from dragoman.model.parts import Part
from dragoman.model.security import OAuthFlows, SecurityScheme
from tests.support.strategies import BY_TYPE

# A union needs a member, though none of them is REQUIRED.
MEMBERS: dict[type[Struct], str] = {
    Part: "text",
    SendMessageResponse: "task",
    StreamResponse: "task",
    OAuthFlows: "implicit",
    SecurityScheme: "mtlsSecurityScheme",
}


def fields_of(kind: type[Struct]) -> tuple[shapes.Field, ...]:
    info = shapes.type_info(kind)
    assert isinstance(info, shapes.StructType)
    return info.fields


def smallest(kind: type[Struct]) -> dict[str, object]:
    """Return the JSON of a value with nothing in it but what has to be."""
    return {
        field.encode_name: smallest_value(field.type)
        for field in fields_of(kind)
        if field.required or MEMBERS.get(kind) == field.encode_name
    }


def smallest_value(shape: shapes.Type) -> object:
    match shape:
        case shapes.UnionType():
            return smallest_value(
                next(kind for kind in shape.types if not isinstance(kind, shapes.NoneType))
            )
        case shapes.StructType():
            return smallest(shape.cls)
        case shapes.VarTupleType():
            return [smallest_value(shape.item_type)] * (shape.min_length or 0)
        case shapes.EnumType():
            return next(iter(shape.cls)).value
        case shapes.StrType():
            return "x" * (shape.min_length or 0)
        case shapes.IntType():
            return 0
        case shapes.DictType():
            return {}
        case _:
            raise AssertionError(shape)


def required_fields() -> Iterator[tuple[type[Struct], shapes.Field]]:
    for kind in BY_TYPE:
        for field in fields_of(kind):
            if field.required:
                yield kind, field


REQUIRED = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.encode_name}")
    for kind, field in required_fields()
]
NON_EMPTY = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.encode_name}")
    for kind, field in required_fields()
    if isinstance(field.type, shapes.StrType | shapes.VarTupleType) and field.type.min_length
]


def refusal(kind: type[Struct], wire: dict[str, object]) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        Form(kind).decode(msgspec.json.encode(wire))
    (violation,) = caught.value.violations
    return violation


@pytest.mark.parametrize("kind", BY_TYPE, ids=lambda kind: kind.__name__)
def test_the_smallest_value_is_accepted(kind: type[Struct]) -> None:
    assert Form(kind).decode(msgspec.json.encode(smallest(kind)))


@pytest.mark.requirement("R-5.7-1", "R-14.1.1-2", "R-3.3.2-9")
@pytest.mark.parametrize(("kind", "field"), REQUIRED)
def test_without_a_required_field_a_value_is_refused(
    kind: type[Struct], field: shapes.Field
) -> None:
    wire = smallest(kind)
    del wire[field.encode_name]
    assert refusal(kind, wire) == FieldViolation(field.encode_name, "is required")
    # null is the same as absent.
    assert refusal(kind, wire | {field.encode_name: None}).description == "is required"


@pytest.mark.requirement("R-5.7-1", "R-5.7-3", "R-4.1.7-1")
@pytest.mark.parametrize(("kind", "field"), NON_EMPTY)
def test_an_empty_required_field_is_refused(kind: type[Struct], field: shapes.Field) -> None:
    empty: object = "" if isinstance(field.type, shapes.StrType) else ()
    wire = smallest(kind) | {field.encode_name: empty}
    assert refusal(kind, wire) == FieldViolation(field.encode_name, "must not be empty")
