"""What is written is held against the rules of protobuf's JSON, with OTLP's two exceptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import (
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    TraceState,
)
from opentelemetry.util import types

from dragoman.otlp.encoding import encode_spans
from dragoman.otlp.span import RecordedSpan, Scope

CONTEXT = SpanContext(0xAB, 0xCD, is_remote=False, trace_flags=TraceFlags(1))
PARENT = SpanContext(0xAB, 0xEF, is_remote=True, trace_flags=TraceFlags(1))
SCOPE = Scope("lib", "1.2", "https://schema.example", {"scoped": True})


def span_of(
    attributes: Mapping[str, object] | None = None,
    *,
    context: SpanContext = CONTEXT,
    parent: SpanContext | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    scope: Scope = SCOPE,
    name: str = "work",
) -> RecordedSpan:
    return RecordedSpan(
        scope,
        name,
        context,
        parent,
        kind,
        5,
        cast("types.Attributes", attributes),
        take=lambda _: None,
        now_ns=lambda: 2**60,
    )


def written(*spans: RecordedSpan) -> list[dict[str, Any]]:
    """End the spans and return how they are written, by scope."""
    for span in spans:
        span.end()
    document = json.loads(encode_spans({"service.name": "tests"}, spans))
    (resource,) = document["resourceSpans"]
    assert resource["resource"] == {
        "attributes": [{"key": "service.name", "value": {"stringValue": "tests"}}]
    }
    return resource["scopeSpans"]


def one(span: RecordedSpan) -> dict[str, Any]:
    (scope,) = written(span)
    (found,) = scope["spans"]
    return found


def value_of(value: object) -> object:
    (attribute,) = one(span_of({"key": value}))["attributes"]
    assert attribute["key"] == "key"
    return attribute["value"]


def test_a_span_that_has_only_what_it_must_have() -> None:
    assert one(span_of()) == {
        "traceId": "000000000000000000000000000000ab",
        "spanId": "00000000000000cd",
        # Sampled, and known to have no parent elsewhere.
        "flags": 0x101,
        "name": "work",
        "kind": 1,
        # 64 bits, so strings: many readers of JSON have 53.
        "startTimeUnixNano": "5",
        "endTimeUnixNano": str(2**60),
    }


def test_a_span_that_has_everything() -> None:
    state = TraceState([("vendor", "x"), ("other", "y")])
    context = SpanContext(0xAB, 0xCD, is_remote=False, trace_flags=TraceFlags(1), trace_state=state)
    span = span_of({"a": "b"}, context=context, parent=PARENT)
    span.add_event("happened", {"n": 1}, 7)
    span.add_link(PARENT, {"why": "because"})
    span.set_status(StatusCode.ERROR, "broken")
    span.lost_attributes, span.lost_events, span.lost_links = 1, 2, 3
    found = one(span)
    assert found["parentSpanId"] == "00000000000000ef"
    assert found["flags"] == 0x301
    assert found["traceState"] == "vendor=x,other=y"
    assert found["attributes"] == [{"key": "a", "value": {"stringValue": "b"}}]
    assert found["events"] == [
        {
            "timeUnixNano": "7",
            "name": "happened",
            "attributes": [{"key": "n", "value": {"intValue": "1"}}],
        }
    ]
    assert found["links"] == [
        {
            "traceId": "000000000000000000000000000000ab",
            "spanId": "00000000000000ef",
            "attributes": [{"key": "why", "value": {"stringValue": "because"}}],
            "flags": 0x301,
        }
    ]
    assert found["status"] == {"code": 2, "message": "broken"}
    assert found["droppedAttributesCount"] == 1
    assert found["droppedEventsCount"] == 2
    assert found["droppedLinksCount"] == 3


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (SpanKind.INTERNAL, 1),
        (SpanKind.SERVER, 2),
        (SpanKind.CLIENT, 3),
        (SpanKind.PRODUCER, 4),
        (SpanKind.CONSUMER, 5),
    ],
)
def test_kinds_are_numbers(kind: SpanKind, number: int) -> None:
    assert one(span_of(kind=kind))["kind"] == number


def test_a_span_that_went_well_may_say_so() -> None:
    span = span_of()
    span.set_status(StatusCode.OK)
    assert one(span)["status"] == {"code": 1}


def test_spans_are_sorted_by_who_made_them() -> None:
    other = Scope("other")
    scopes = written(span_of(name="a"), span_of(name="b", scope=other), span_of(name="c"))
    assert [[span["name"] for span in scope["spans"]] for scope in scopes] == [["a", "c"], ["b"]]
    assert scopes[0]["scope"] == {
        "name": "lib",
        "version": "1.2",
        "attributes": [{"key": "scoped", "value": {"boolValue": True}}],
    }
    assert scopes[0]["schemaUrl"] == "https://schema.example"
    assert scopes[1]["scope"] == {"name": "other"}
    assert "schemaUrl" not in scopes[1]


class Colour(StrEnum):
    RED = "red"


class Shouted(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"stringValue": "text"}),
        ("", {"stringValue": ""}),
        ("Zürich", {"stringValue": "Zürich"}),
        # Half a pair of surrogates cannot be written.
        ("a\ud800b", {"stringValue": "a?b"}),
        (Colour.RED, {"stringValue": "red"}),
        (Shouted("loud"), {"stringValue": "loud"}),
        (True, {"boolValue": True}),
        (False, {"boolValue": False}),
        (0, {"intValue": "0"}),
        (-(2**63), {"intValue": str(-(2**63))}),
        (2**63 - 1, {"intValue": str(2**63 - 1)}),
        # More than 64 bits are told as text.
        (2**63, {"stringValue": str(2**63)}),
        (1.5, {"doubleValue": 1.5}),
        (float("nan"), {"doubleValue": "NaN"}),
        (float("inf"), {"doubleValue": "Infinity"}),
        (float("-inf"), {"doubleValue": "-Infinity"}),
        (b"\x00\xff", {"bytesValue": "AP8="}),
        (None, {}),
        ([], {"arrayValue": {"values": []}}),
        (("a", 1), {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
        # What has no form leaves its place empty.
        ([object(), True], {"arrayValue": {"values": [{}, {"boolValue": True}]}}),
        (
            {"n": {"m": 1}, "bad": object()},
            {
                "kvlistValue": {
                    "values": [
                        {
                            "key": "n",
                            "value": {
                                "kvlistValue": {
                                    "values": [{"key": "m", "value": {"intValue": "1"}}]
                                }
                            },
                        }
                    ]
                }
            },
        ),
    ],
)
def test_values_are_told_by_their_kind(value: object, expected: object) -> None:
    assert value_of(value) == expected


class Plain(Enum):
    ONE = 1


@pytest.mark.parametrize(
    "attributes",
    [{"bad": object()}, {"bad": {1, 2}}, {"bad": Plain.ONE}, {"": "nameless"}, {7: "no name"}],
)
def test_what_has_no_form_is_left_out_and_counted(attributes: dict[str, object]) -> None:
    found = one(span_of({"good": 1, **attributes}))
    assert [each["key"] for each in found["attributes"]] == ["good"]
    assert found["droppedAttributesCount"] == 1


def test_what_contains_itself_has_an_end() -> None:
    endless: list[object] = [1]
    endless.append(endless)
    text = json.dumps(value_of(endless))
    assert text.count("arrayValue") == 16


def test_names_may_be_anything() -> None:
    span = span_of({"schlüssel\ud800": 1}, name="a\ud800")
    found = one(span)
    assert found["name"] == "a?"
    assert found["attributes"][0]["key"] == "schlüssel?"


@given(
    st.dictionaries(
        st.text(alphabet=st.characters()),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        ),
        max_size=8,
    )
)
def test_whatever_is_set_can_be_written(attributes: dict[str, object]) -> None:
    found = one(span_of(attributes))
    kept = found.get("attributes", [])
    assert len(kept) + found.get("droppedAttributesCount", 0) == len(attributes)
    for attribute in kept:
        assert len(attribute["value"]) <= 1
