from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, NewType, TypedDict

import pytest
from msgspec import Meta, Struct

from dragoman.agent.context import Context
from dragoman.agent.results import File
from dragoman.agent.signature import Kind, Signature, hints_of, inspect_signature
from dragoman.agent.sync_context import SyncContext
from dragoman.errors import FieldViolation, InvalidParamsError, UsageError
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.testing.turn import user_message

City = NewType("City", str)


@dataclass
class Point:
    x: int
    y: int = 0


class Order(Struct):
    item: str
    count: int = 1


class Options(TypedDict):
    depth: int


def signature_of(function: Callable[..., object], *, is_async: bool = True) -> Signature:
    return inspect_signature(function, "skill f", hints_of(function, "skill f"), is_async=is_async)


def bind(function: Callable[..., object], *content: object) -> tuple[object, ...]:
    return signature_of(function).bind(user_message(*content), "the context")


def violations(function: Callable[..., object], *content: object) -> list[FieldViolation]:
    with pytest.raises(InvalidParamsError) as caught:
        bind(function, *content)
    return list(caught.value.violations)


def refusal(function: Callable[..., object], *, is_async: bool = True) -> str:
    with pytest.raises(UsageError) as caught:
        signature_of(function, is_async=is_async)
    return str(caught.value)


# --- text ----------------------------------------------------------------------------------------


async def one_text(subject: str) -> None: ...
async def optional_text(subject: str = "autumn") -> None: ...
async def two_texts(subject: str, style: str) -> None: ...
async def text_and_option(subject: str, style: str = "plain") -> None: ...
async def text_and_number(subject: str, count: int) -> None: ...


def test_a_text_part_is_the_text_parameter() -> None:
    assert bind(one_text, "winter") == ("winter",)


def test_text_parts_are_joined() -> None:
    assert bind(one_text, "a", "b") == ("a\nb",)


def test_parts_that_are_no_text_do_not_disturb_the_text() -> None:
    assert bind(one_text, b"x", "a") == ("a",)


def test_an_empty_text_is_a_text() -> None:
    assert bind(optional_text, "") == ("",)


def test_a_text_parameter_may_be_named_in_data() -> None:
    assert bind(one_text, {"subject": "winter"}) == ("winter",)


def test_json_in_text_stays_text() -> None:
    assert bind(one_text, '{"subject": "winter"}') == ('{"subject": "winter"}',)


def test_a_missing_text_says_to_send_a_text_part() -> None:
    assert violations(one_text, {"other": 1}) == [
        FieldViolation("message.parts", 'has no text for "subject"; send a text part')
    ]


def test_a_default_stands_in_for_a_missing_text() -> None:
    assert bind(optional_text, {"other": 1}) == ("autumn",)


def test_several_texts_come_from_data_by_name() -> None:
    assert bind(two_texts, {"subject": "a", "style": "b"}) == ("a", "b")


def test_the_text_goes_to_the_only_text_parameter_without_a_value() -> None:
    assert bind(two_texts, {"style": "b"}, "a") == ("a", "b")


def test_the_text_goes_to_no_one_when_two_could_take_it() -> None:
    assert violations(two_texts, "a") == [
        FieldViolation("message.parts", 'has no value for "subject"; send a data part with it'),
        FieldViolation("message.parts", 'has no value for "style"; send a data part with it'),
    ]


def test_the_text_goes_to_a_required_parameter_before_an_optional_one() -> None:
    assert bind(text_and_option, "a") == ("a", "plain")
    assert bind(text_and_option, {"subject": "s"}, "a") == ("s", "a")


def test_text_and_data_together_supply_their_parameters() -> None:
    assert bind(text_and_number, "a", {"count": 2}) == ("a", 2)


def test_a_text_in_data_must_be_text() -> None:
    assert violations(one_text, {"subject": 3}) == [
        FieldViolation("message.parts[0].data.subject", "must be str, not int")
    ]


def test_a_constraint_on_a_text_is_checked() -> None:
    async def f(subject: Annotated[str, Meta(max_length=3)]) -> None: ...

    assert bind(f, "abc") == ("abc",)
    assert violations(f, "abcd") == [
        FieldViolation("message.parts[0].text", "must be str of length <= 3")
    ]


def test_a_new_type_of_str_is_text() -> None:
    async def f(city: City, note: str | None = None) -> None: ...

    assert bind(f, "Rome") == ("Rome", None)


# --- message, files, context ---------------------------------------------------------------------


def test_the_message_is_given_as_it_came() -> None:
    async def f(message: Message) -> None: ...

    message = user_message("hi")
    assert signature_of(f).bind(message) == (message,)


def test_files_are_given_as_a_list_or_a_tuple() -> None:
    async def as_list(files: list[File]) -> None: ...
    async def as_tuple(files: tuple[File, ...]) -> None: ...

    parts = (Part(raw=b"x", filename="a"), Part(url="https://a.example"))
    files = [File(content=b"x", name="a"), File(url="https://a.example")]
    assert bind(as_list, "text", *parts) == (files,)
    assert bind(as_tuple, *parts) == (tuple(files),)


def test_a_list_of_files_may_be_empty() -> None:
    async def f(files: list[File]) -> None: ...

    assert bind(f, "text") == ([],)


def test_single_files_are_given_in_order_and_the_rest_as_a_list() -> None:
    async def f(first: File, second: File, rest: list[File]) -> None: ...

    sent = [File(content=content, name="n") for content in (b"1", b"2", b"3")]
    assert bind(f, *sent) == (sent[0], sent[1], sent[2:])


def test_a_missing_file_says_to_send_a_file_part() -> None:
    async def f(chart: File) -> None: ...

    assert violations(f, "text") == [
        FieldViolation("message.parts", 'has no file for "chart"; send a file part')
    ]


def test_an_optional_file_may_be_missing() -> None:
    async def f(chart: File | None = None) -> None: ...

    assert bind(f, "text") == (None,)


def test_the_context_is_known_by_its_annotation_or_by_its_name() -> None:
    async def by_annotation(text: str, c: Context) -> None: ...

    assert bind(by_annotation, "hi") == ("hi", "the context")
    by_name: Callable[[Any], object] = lambda ctx: ctx  # noqa: E731 - lambdas have no annotations
    assert bind(by_name, "hi") == ("the context",)


def test_a_plain_function_has_a_sync_context() -> None:
    def f(ctx: SyncContext) -> None: ...

    assert signature_of(f, is_async=False).takes_context


def test_a_function_without_parameters_takes_any_message() -> None:
    async def f() -> None: ...

    assert bind(f, {"a": 1}) == ()


# --- data ----------------------------------------------------------------------------------------


async def several(celsius: float, days: int = 1, tags: list[str] | None = None) -> None: ...
async def one_object(order: Order) -> None: ...
async def object_and_flag(order: Order, urgent: bool = False) -> None: ...  # noqa: FBT001, FBT002 - what authors write


def test_data_supplies_parameters_by_name() -> None:
    assert bind(several, {"celsius": 21, "tags": ["a"]}) == (21.0, 1, ["a"])


def test_several_data_parts_are_looked_through_in_order() -> None:
    assert bind(several, {"celsius": 1.5}, {"celsius": 2.5, "days": 3}) == (1.5, 3, None)


def test_a_wrong_value_is_named_by_its_path() -> None:
    assert violations(several, "text", {"celsius": "warm"}) == [
        FieldViolation("message.parts[1].data.celsius", "must be float, not str")
    ]


def test_everything_that_is_wrong_is_named() -> None:
    assert violations(several, {"days": "x", "tags": [1]}) == [
        FieldViolation("message.parts[0].data.celsius", "is required"),
        FieldViolation("message.parts[0].data.days", "must be int, not str"),
        FieldViolation("message.parts[0].data.tags[0]", "must be str, not int"),
    ]


def test_without_a_data_part_the_message_lacks_the_value() -> None:
    assert violations(several, "21") == [
        FieldViolation("message.parts", 'has no value for "celsius"; send a data part with it')
    ]


def test_a_whole_object_may_be_the_structured_parameter() -> None:
    assert bind(one_object, {"item": "tea"}) == (Order("tea"),)


def test_the_structured_parameter_may_be_named() -> None:
    assert bind(one_object, {"order": {"item": "tea"}}) == (Order("tea"),)


def test_a_field_of_a_whole_object_is_named_by_its_path() -> None:
    assert violations(one_object, {"count": 2}) == [
        FieldViolation("message.parts[0].data.item", "is required")
    ]
    assert violations(one_object, {"order": {"item": 1}}) == [
        FieldViolation("message.parts[0].data.order.item", "must be str, not int")
    ]


def test_a_whole_object_may_hold_other_parameters_too() -> None:
    assert bind(object_and_flag, {"item": "tea", "urgent": True}) == (Order("tea"), True)


def test_an_optional_object_is_not_mistaken_for_the_others() -> None:
    async def f(celsius: float, order: Order | None = None) -> None: ...

    assert bind(f, {"celsius": 1}) == (1.0, None)


def test_a_lone_optional_object_may_be_the_whole_data() -> None:
    async def f(order: Order | None = None) -> None: ...

    assert bind(f, {"item": "tea"}) == (Order("tea"),)
    assert bind(f, "text") == (None,)


def test_a_dict_is_the_whole_object() -> None:
    async def f(payload: dict[str, object]) -> None: ...

    assert bind(f, {"a": 1}) == ({"a": 1},)


def test_a_typed_dict_is_the_whole_object() -> None:
    async def f(options: Options) -> None: ...

    assert bind(f, {"depth": 1}) == ({"depth": 1},)


def test_a_lone_list_may_be_the_whole_data() -> None:
    async def f(points: list[Point]) -> None: ...

    assert bind(f, [{"x": 1}]) == ([Point(1)],)
    assert bind(f, {"points": [{"x": 1}]}) == ([Point(1)],)


def test_an_object_parameter_takes_any_data() -> None:
    async def f(anything: object) -> None: ...

    assert bind(f, 3) == (3,)


def test_keyword_only_parameters_come_after_the_others() -> None:
    async def f(text: str, *, count: int = 2) -> None: ...

    assert bind(f, "a") == ("a", 2)


def test_annotations_are_seen_through_wrappers() -> None:
    @wraps(several)
    async def wrapper(*args: Any, **kwargs: Any) -> None: ...

    assert bind(wrapper, {"celsius": 1})[0] == 1.0


def test_a_partial_has_the_parameters_that_are_left() -> None:
    assert bind(partial(several, 20.0), {"days": 2}) == (2, None)


def test_an_object_is_judged_by_its_call_method() -> None:
    class Echo:
        async def __call__(self, text: str) -> str:
            return text

    assert bind(Echo(), "hi") == ("hi",)


# --- schemas -------------------------------------------------------------------------------------


def test_text_alone_has_no_schema() -> None:
    assert signature_of(one_text).schema() is None


def test_the_schema_lists_parameters_with_defaults_and_what_is_required() -> None:
    assert signature_of(several).schema() == {
        "type": "object",
        "properties": {
            "celsius": {"type": "number"},
            "days": {"type": "integer", "default": 1},
            "tags": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["celsius"],
    }


def test_the_schema_of_a_lone_object_is_that_of_its_type() -> None:
    schema = signature_of(one_object).schema()
    assert schema is not None
    assert (schema["title"], schema["required"]) == ("Order", ["item"])


def test_several_texts_are_in_the_schema_and_a_single_one_is_not() -> None:
    assert signature_of(two_texts).schema() == {
        "type": "object",
        "properties": {"subject": {"type": "string"}, "style": {"type": "string"}},
        "required": ["subject", "style"],
    }
    assert signature_of(text_and_number).schema() == {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
    }


def test_definitions_are_kept_beside_the_properties() -> None:
    schema = signature_of(object_and_flag).schema()
    assert schema is not None
    assert schema["properties"] == {
        "order": {"$ref": "#/$defs/Order"},
        "urgent": {"type": "boolean", "default": False},
    }
    assert "$defs" in schema


def test_a_default_that_json_cannot_express_is_left_out() -> None:
    marker: Any = object()

    async def f(count: int = marker) -> None: ...

    assert signature_of(f).schema() == {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
    }


# --- what cannot be a skill ----------------------------------------------------------------------


class Opaque: ...


def test_a_parameter_without_annotation_is_refused() -> None:
    untyped: Callable[[Any], object] = lambda subject: subject  # noqa: E731 - lambdas have none
    assert refusal(untyped) == "skill f: parameter subject needs a type annotation"


def test_any_number_of_values_is_refused() -> None:
    async def f(*texts: str) -> None: ...
    async def g(**texts: str) -> None: ...

    assert "parameter *texts" in refusal(f)
    assert "parameter **texts" in refusal(g)


def test_a_type_that_is_not_json_is_refused() -> None:
    async def f(thing: Opaque) -> None: ...
    async def g(things: list[Opaque]) -> None: ...

    assert refusal(f).startswith("skill f: parameter thing cannot be taken from a data part")
    assert "Opaque" in refusal(f)
    assert "parameter things" in refusal(g)


def test_a_union_that_cannot_be_told_apart_is_refused() -> None:
    async def f(thing: Point | Order) -> None: ...

    assert "parameter thing cannot be taken from a data part" in refusal(f)


def test_a_part_is_refused_in_favour_of_the_message() -> None:
    async def f(part: Part) -> None: ...

    assert "parameter part" in refusal(f)
    assert "take the Message" in refusal(f)


def test_a_context_in_a_plain_function_is_refused() -> None:
    def f(ctx: Context) -> None: ...

    assert "annotate it SyncContext, or make the function async" in refusal(f, is_async=False)


def test_a_sync_context_in_a_coroutine_is_refused() -> None:
    async def f(ctx: SyncContext) -> None: ...

    assert "annotate it Context" in refusal(f)


def test_two_lists_of_files_are_refused() -> None:
    async def f(a: list[File], b: list[File]) -> None: ...

    assert "only one parameter can take all files" in refusal(f)


def test_an_annotation_that_cannot_be_resolved_is_refused_by_name() -> None:
    async def f(thing: int) -> None: ...

    f.__annotations__["thing"] = "Nowhere"
    assert "the annotation of parameter thing cannot be resolved" in refusal(f)
    assert "Nowhere" in refusal(f)
    f.__annotations__ = {"thing": int, "return": "Nowhere"}
    assert "the annotation of its result cannot be resolved" in refusal(f)


def test_annotations_that_make_no_sense_are_refused() -> None:
    async def f(thing: int) -> None: ...

    f.__annotations__["thing"] = "int[str]"
    assert "its annotations cannot be read" in refusal(f)


def test_every_kind_says_where_its_value_comes_from() -> None:
    async def f(a: str, b: int, c: Message, d: File, e: list[File], g: Context) -> None: ...

    assert [p.kind for p in signature_of(f).parameters] == [
        Kind.TEXT,
        Kind.DATA,
        Kind.MESSAGE,
        Kind.FILE,
        Kind.FILES,
        Kind.CONTEXT,
    ]
