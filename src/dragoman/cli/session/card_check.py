"""Checking a card against the schema of the version that it is of. Pure.

Reading a card forgives much; here nothing is forgiven, and every finding says where it is, as a
JSON pointer (RFC 6901).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import msgspec

from dragoman.auth.outgoing.origins import is_confidential
from dragoman.cli.options.values import is_list, is_object
from dragoman.client.discovery.offers import BINDINGS
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard

__all__ = ("advice_on", "findings_in", "is_of_1_0")

Schema: TypeAlias = Mapping[str, Any]

_ROOT_1_0: Final[Schema] = msgspec.json.schema(AgentCard, schema_hook=lambda _: {"title": "JSON"})

_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
# 0.x reference, 3.4: what 0.2 and 0.3 require; 0.1 requires less and has nothing of its own.
_ROOT_0_X: Final[Schema] = {
    "type": "object",
    "required": [
        "name",
        "description",
        "url",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ],
    "properties": {
        "name": _TEXT,
        "description": _TEXT,
        "url": _TEXT,
        "version": _TEXT,
        "protocolVersion": _TEXT,
        "preferredTransport": _TEXT,
        "capabilities": {"type": "object"},
        "defaultInputModes": _TEXTS,
        "defaultOutputModes": _TEXTS,
        "additionalInterfaces": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["url", "transport"],
                "properties": {"url": _TEXT, "transport": _TEXT},
            },
        },
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "name", "description", "tags"],
                "properties": {"id": _TEXT, "name": _TEXT, "description": _TEXT, "tags": _TEXTS},
            },
        },
    },
}
_NO_OBJECT: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def is_of_1_0(document: bytes) -> bool:
    """Tell whether a card has the members of 1.0; older ones have an address of their own."""
    try:
        return "supportedInterfaces" in msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    except _NO_OBJECT:
        return False


def findings_in(document: bytes) -> list[str]:
    """Return what is wrong with a card, each with where it is; nothing if it is valid."""
    try:
        card: object = msgspec.json.decode(document)
    except _NO_OBJECT:
        return ["/: is not JSON"]
    root = _ROOT_1_0 if is_of_1_0(document) else _ROOT_0_X
    return [f"{place or '/'}: {text}" for place, text in _findings(card, root, "", root)]


def advice_on(card: AgentCard) -> Iterator[str]:
    """Yield what a valid card should have otherwise."""
    for interface in card.supported_interfaces:
        if interface.protocol_binding not in BINDINGS:
            yield f"the binding {interface.protocol_binding} is not one of A2A"
        if "://" in interface.url and not _is_safe(interface.url):
            yield f"{interface.url} can be read by everybody on the way"
    required = {name for one in card.security_requirements for name in one.schemes}
    for name in sorted(required - set(card.security_schemes)):
        yield f"the security scheme {name} is required, but not described"
    for name, listed in (
        ("supportedInterfaces", card.supported_interfaces),
        ("skills", card.skills),
        ("defaultInputModes", card.default_input_modes),
        ("defaultOutputModes", card.default_output_modes),
    ):
        if not listed:
            yield f"{name} is empty"


def _is_safe(url: str) -> bool:
    try:
        return urlsplit(url).scheme not in ("http", "https") or is_confidential(url)
    except UsageError:
        return False


def _findings(value: object, schema: Schema, place: str, root: Schema) -> Iterator[tuple[str, str]]:
    """Walk a value along its schema; the words are those that our schemas use."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        # Every union of ours is "or absent", and null is the JSON of that.
        (schema,) = (option for option in schema["anyOf"] if option.get("type") != "null")
        yield from _findings(value, schema, place, root)
        return
    kind = schema.get("type")
    if kind is not None and not _is_of_kind(value, kind):
        yield place, f"must be {'an' if kind[0] in 'aeio' else 'a'} {kind}"
    elif is_object(value):
        yield from _findings_in_object(value, schema, place, root)
    elif is_list(value):
        for index, item in enumerate(value):
            yield from _findings(item, schema.get("items", {}), f"{place}/{index}", root)
    elif isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield place, "must not be empty"


def _findings_in_object(
    value: dict[str, object], schema: Schema, place: str, root: Schema
) -> Iterator[tuple[str, str]]:
    known: Schema = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}/{name}", "is missing"
    for name, item in value.items():
        # R-5.7-5: members that are not known are no mistake.
        expected = known.get(name, others if isinstance(others, dict) else None)
        if expected is not None:
            pointer = name.replace("~", "~0").replace("/", "~1")
            yield from _findings(item, expected, f"{place}/{pointer}", root)


def _is_of_kind(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])
