"""Ended spans as OTLP writes them in JSON. Pure.

OTLP's JSON is that of protobuf with two exceptions: ids are hexadecimals instead of base64, and
enumerations are numbers. As there, 64-bit numbers are strings, members are in camel case, and what
has its default is left out.

Code that is traced may set anything as an attribute. What OTLP has no form for is left out and
counted; it never is an error, for nobody is there to catch it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType
from opentelemetry.trace import SpanContext, StatusCode

from dragoman.otlp.span import Event, RecordedSpan, Scope

__all__ = ("encode_spans",)

_STATUSES: Final = {StatusCode.OK: 1, StatusCode.ERROR: 2}

_KNOWS_WHERE_PARENT_IS: Final = 0x100
_PARENT_IS_REMOTE: Final = 0x200
"""Above the eight flags of a trace."""

_DEEPEST: Final = 16
"""How deep values may be nested. What refers to itself would have no end."""

_INT64: Final = range(-(2**63), 2**63)


class _Value(Struct, rename="camel", gc=False):
    """Exactly one of these, or none for nothing."""

    string_value: str | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    int_value: str | UnsetType = UNSET
    double_value: float | str | UnsetType = UNSET
    bytes_value: str | UnsetType = UNSET
    array_value: _Array | UnsetType = UNSET
    kvlist_value: _Array | UnsetType = UNSET


class _Array(Struct):
    """Values, or pairs of names and values."""

    values: list[_Value] | list[_Attribute]


class _Attribute(Struct, gc=False):
    key: str
    value: _Value


class _Event(Struct, rename="camel", omit_defaults=True):
    time_unix_nano: str
    name: str
    attributes: list[_Attribute] = []
    dropped_attributes_count: int = 0


class _Link(Struct, rename="camel", omit_defaults=True):
    trace_id: str
    span_id: str
    trace_state: str = ""
    attributes: list[_Attribute] = []
    dropped_attributes_count: int = 0
    flags: int = 0


class _Status(Struct, omit_defaults=True):
    code: int
    message: str = ""


class _Span(Struct, rename="camel", omit_defaults=True):
    trace_id: str
    span_id: str
    flags: int
    name: str
    kind: int
    start_time_unix_nano: str
    end_time_unix_nano: str
    parent_span_id: str = ""
    trace_state: str = ""
    attributes: list[_Attribute] = []
    dropped_attributes_count: int = 0
    events: list[_Event] | UnsetType = UNSET
    dropped_events_count: int = 0
    links: list[_Link] | UnsetType = UNSET
    dropped_links_count: int = 0
    status: _Status | UnsetType = UNSET


class _Scope(Struct, rename="camel", omit_defaults=True):
    name: str
    version: str = ""
    attributes: list[_Attribute] = []
    dropped_attributes_count: int = 0


class _ScopeSpans(Struct, rename="camel", omit_defaults=True):
    scope: _Scope
    spans: list[_Span]
    schema_url: str = ""


class _Resource(Struct):
    attributes: list[_Attribute]


class _ResourceSpans(Struct, rename="camel"):
    resource: _Resource
    scope_spans: list[_ScopeSpans]


class _Request(Struct, rename="camel"):
    resource_spans: list[_ResourceSpans]


_encoder: Final = msgspec.json.Encoder()


def encode_spans(resource: Mapping[str, object], spans: Iterable[RecordedSpan]) -> bytes:
    """Return the body of a request that tells a collector of spans.

    Args:
        resource: who has made them, by attributes.
    """
    found: dict[int, _ScopeSpans] = {}
    for span in spans:
        # By what it is, and not by what is in it, which would be compared for every span.
        by_scope = found.get(id(span.scope))
        if by_scope is None:
            scope = span.scope
            by_scope = _ScopeSpans(_scope(scope), [], _text(scope.schema_url))
            found[id(scope)] = by_scope
        by_scope.spans.append(_span(span))
    of_resource = _Resource(_attributes(resource)[0])
    return _encoder.encode(_Request([_ResourceSpans(of_resource, list(found.values()))]))


def _span(span: RecordedSpan) -> _Span:
    trace_id, span_id, _, trace_flags, state, _ = span.get_span_context()
    parent = span.parent
    attributes, lost = _attributes(span.attributes)
    flags = trace_flags | _KNOWS_WHERE_PARENT_IS
    if parent is not None and parent.is_remote:
        flags |= _PARENT_IS_REMOTE
    written = _Span(
        trace_id.to_bytes(16, "big").hex(),
        span_id.to_bytes(8, "big").hex(),
        flags,
        _text(span.name),
        # 0 is "unspecified" there, which the API does not know.
        span.kind.value + 1,
        str(span.start_ns),
        str(span.end_ns),
        "" if parent is None else parent.span_id.to_bytes(8, "big").hex(),
        state.to_header() if state else "",
        attributes,
        lost + span.lost_attributes,
    )
    if span.events:
        written.events = [_event(event) for event in span.events]
        written.dropped_events_count = span.lost_events
    if span.links:
        written.links = [_link(*link) for link in span.links]
        written.dropped_links_count = span.lost_links
    if span.status is not StatusCode.UNSET:
        written.status = _Status(_STATUSES[span.status], _text(span.status_text))
    return written


def _event(event: Event) -> _Event:
    return _Event(str(event.at_ns), _text(event.name), *_attributes(event.attributes))


def _link(context: SpanContext, attributes: Mapping[str, object]) -> _Link:
    where = _PARENT_IS_REMOTE if context.is_remote else 0
    return _Link(
        context.trace_id.to_bytes(16, "big").hex(),
        context.span_id.to_bytes(8, "big").hex(),
        context.trace_state.to_header(),
        *_attributes(attributes),
        context.trace_flags | _KNOWS_WHERE_PARENT_IS | where,
    )


def _scope(scope: Scope) -> _Scope:
    return _Scope(_text(scope.name), _text(scope.version), *_attributes(scope.attributes))


def _attributes(given: Mapping[str, object], depth: int = 0) -> tuple[list[_Attribute], int]:
    """Return what can be written, and how much cannot."""
    found: list[_Attribute] = []
    for key, value in given.items():
        if not (type(key) is str and key):
            continue
        # Nearly all of them: plain text. Strings know whether they are ASCII.
        plain = value if type(value) is str and value.isascii() else None
        written = _value(value, depth) if plain is None else _Value(plain)
        if written is not None:
            found.append(_Attribute(key if key.isascii() else _text(key), written))
    return found, len(given) - len(found)


def _value(value: object, depth: int) -> _Value | None:
    """Return a value as it is written; None for what has no form."""
    if value is None:
        return _Value()
    if isinstance(value, str):
        return _Value(_text(value))
    # A bool is an int, too.
    if isinstance(value, bool):
        return _Value(bool_value=value)
    if isinstance(value, int):
        number = str(int(value))
        return _Value(int_value=number) if value in _INT64 else _Value(number)
    if isinstance(value, float):
        return _Value(double_value=_double(float(value)))
    if isinstance(value, bytes):
        return _Value(bytes_value=base64.b64encode(value).decode())
    return _nested(value, depth + 1)


def _nested(value: object, depth: int) -> _Value | None:
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value)
        return _Value(kvlist_value=_Array(_attributes(pairs, depth)[0]))
    if isinstance(value, Sequence):
        # What has no form leaves a hole, for the others keep their places.
        each = (_value(one, depth) for one in cast("Sequence[object]", value))
        return _Value(array_value=_Array([one or _Value() for one in each]))
    return None


def _double(number: float) -> float | str:
    """JSON has no word for these; protobuf has."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _text(text: str) -> str:
    """Return text that can be written; half a surrogate pair cannot."""
    if type(text) is str and text.isascii():
        return text
    return str.encode(text, "utf-8", "replace").decode()
