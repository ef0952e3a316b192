"""Security schemes of 0.2 and 0.3, both ways (0.x reference, 5.12).

The JSON schema has them flat, the objects of OpenAPI 3 that are known by ``type``; the proto has
them wrapped, as 1.0 does, in a member that is named for their kind. Both are read wherever a card
is, because peers mix them; a form writes what its readers know. Nothing here knows a form.

A scheme of the schema may offer several OAuth flows; one of 1.0 has exactly one. So such a scheme
becomes several, ``<name>``, ``<name>-2`` and so on, and whoever requires it requires any one of
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, islice, product
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from dragoman.dialects.fields import Fields
from dragoman.dialects.violations import violation_of
from dragoman.errors import InvalidParamsError
from dragoman.model.security import (
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = (
    "MAX_ALTERNATIVES",
    "Variants",
    "flat_requirement",
    "flat_scheme",
    "read_requirements",
    "read_schemes",
    "wrapped_requirement",
    "wrapped_scheme",
)

_MEMBERS: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}
"""What the proto and 1.0 call a scheme of this type."""

_TYPES: Final = {member: kind for kind, member in _MEMBERS.items()}
_FLOWS: Final = ("authorizationCode", "clientCredentials", "implicit", "password", "deviceCode")

Variants: TypeAlias = Mapping[str, tuple[str, ...]]
"""The names that a scheme of the card goes by in the model."""

MAX_ALTERNATIVES: Final = 64
"""Each scheme with several flows multiplies the ways to meet a requirement; a card has few."""


# --- reading ------------------------------------------------------------------------------------


def read_schemes(card: Fields) -> tuple[dict[str, SecurityScheme], Variants]:
    """Read the schemes of a card; those of a type that is not known are left out."""
    found = card.at("securitySchemes")
    if found is None:
        return {}, {}
    schemes: dict[str, SecurityScheme] = {}
    variants: dict[str, tuple[str, ...]] = {}
    for name, value in found.whole.items():
        read = _read_scheme(Fields(value, found.place(name)))
        taken = found.whole.keys() | schemes.keys()
        fresh = (other for n in count(2) if (other := f"{name}-{n}") not in taken)
        names = (name, *islice(fresh, len(read) - 1)) if read else (name,)
        schemes.update(zip(names, read, strict=False))
        variants[name] = names
    return schemes, variants


def read_requirements(holder: Fields, variants: Variants) -> tuple[SecurityRequirement, ...]:
    """Read the member ``security`` of a card or a skill."""
    requirements: list[SecurityRequirement] = []
    for value, place in holder.items("security"):
        scopes = _read_scopes(Fields(value, place))
        choices = [variants.get(name, (name,)) for name in scopes]
        requirements += [
            SecurityRequirement(schemes=dict(zip(names, scopes.values(), strict=True)))
            for names in islice(product(*choices), MAX_ALTERNATIVES)
        ]
    return tuple(requirements)


def _read_scopes(requirement: Fields) -> dict[str, StringList]:
    """Read the scopes by scheme; a scheme that is called ``schemes`` has a list of them."""
    if not isinstance(requirement.get("schemes"), dict):
        return {name: StringList(list=requirement.texts(name)) for name in requirement.whole}
    schemes = requirement.at("schemes") or Fields({})
    lists = {name: schemes.at(name) or Fields({}) for name in schemes.whole}
    return {name: StringList(list=found.texts("list")) for name, found in lists.items()}


def _read_scheme(scheme: Fields) -> tuple[SecurityScheme, ...]:
    """Read one scheme: as many as it has flows, none if its type is not known."""
    member = _MEMBERS.get(scheme.text("type"))
    if member is not None:
        return _read_kind(scheme, member, key_place="in")
    for member in _TYPES:
        if (inner := scheme.at(member)) is not None:
            return _read_kind(inner, member, key_place="location")
    return ()


def _read_kind(scheme: Fields, member: str, *, key_place: str) -> tuple[SecurityScheme, ...]:
    found = _present(scheme)
    if member == _MEMBERS["apiKey"]:
        found["location"] = scheme.required_text(key_place)
    elif member == _MEMBERS["oauth2"]:
        flows = _read_flows(scheme)
        if not flows:
            # A flow that these versions have no name for still ends in a bearer token.
            return (_converted(scheme, _MEMBERS["http"], {**found, "scheme": "Bearer"}),)
        return tuple([_converted(scheme, member, {**found, "flows": flow}) for flow in flows])
    return (_converted(scheme, member, found),)


def _read_flows(scheme: Fields) -> list[JsonObject]:
    """Return the known flows of a scheme, each as the only one."""
    flows = scheme.at("flows")
    if flows is None:
        raise InvalidParamsError.of(scheme.place("flows"), "is required")
    found = [(name, flows.at(name)) for name in _FLOWS]
    # ProtoJSON leaves out an empty map.
    return [{name: {"scopes": {}, **_present(flow)}} for name, flow in found if flow is not None]


def _present(found: Fields) -> JsonObject:
    return {name: value for name, value in found.whole.items() if value is not None}


def _converted(scheme: Fields, member: str, value: JsonObject) -> SecurityScheme:
    # But for what is said above, the members have the names of 1.0.
    try:
        return msgspec.convert({member: value}, SecurityScheme)
    except msgspec.ValidationError as refused:
        violation = violation_of(refused)
        field = violation.field.removeprefix(member).removeprefix(".")
        raise InvalidParamsError.of(scheme.place(field), violation.description) from None


# --- writing ------------------------------------------------------------------------------------


def flat_scheme(scheme: SecurityScheme) -> JsonObject:
    """Return a scheme as the schema has it, ``type`` first."""
    ((member, value),) = cast("dict[str, JsonObject]", wrapped_scheme(scheme)).items()
    if "location" in value:
        value["in"] = value.pop("location")
    return {"type": _TYPES[member], **value}


def wrapped_scheme(scheme: SecurityScheme) -> JsonObject:
    """Return a scheme as the proto has it, without what 1.0 alone has a place for."""
    members: JsonObject = msgspec.to_builtins(_without_device_code(scheme))
    oauth = cast("JsonObject", members.get(_MEMBERS["oauth2"], {}))
    for flow in cast("dict[str, JsonObject]", oauth.get("flows", {})).values():
        flow.pop("pkceRequired", None)
        flow.setdefault("scopes", {})  # required by the schema
    return members


def _without_device_code(scheme: SecurityScheme) -> SecurityScheme:
    oauth = scheme.oauth2_security_scheme
    if oauth is None or oauth.flows.device_code is None:
        return scheme
    # Some readers refuse a scheme without a flow. This one, too, ends in a bearer token.
    bearer = HTTPAuthSecurityScheme(description=oauth.description, scheme="Bearer")
    return SecurityScheme(http_auth_security_scheme=bearer)


def flat_requirement(requirement: SecurityRequirement) -> JsonObject:
    """Return a requirement as the schema has it."""
    return {name: scopes.list for name, scopes in requirement.schemes.items()}


def wrapped_requirement(requirement: SecurityRequirement) -> JsonObject:
    """Return a requirement as the proto has it, which is how 1.0 does."""
    return msgspec.to_builtins(requirement)
