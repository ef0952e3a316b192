"""Security schemes of 0.2 and 0.3, both ways: the objects of OpenAPI 3, known by ``type``.

An OAuth scheme of these versions may offer several flows; one of 1.0 has exactly one. So such a
scheme becomes several, ``<name>``, ``<name>-2`` and so on, and whoever requires it requires any one
of them (0.x reference, 5.12).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, islice, product
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from dragoman.dialects.fields import Fields
from dragoman.dialects.violations import violation_of
from dragoman.errors import InvalidParamsError
from dragoman.model.security import SecurityRequirement, SecurityScheme, StringList

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("read_requirements", "read_schemes", "requirement_members", "scheme_members")

_MEMBERS: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}
"""What 1.0 calls a scheme of this type."""

_TYPES: Final = {member: kind for kind, member in _MEMBERS.items()}
_FLOWS: Final = ("authorizationCode", "clientCredentials", "implicit", "password")

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
        requirement = Fields(value, place)
        scopes = {name: StringList(list=requirement.texts(name)) for name in requirement.whole}
        choices = [variants.get(name, (name,)) for name in scopes]
        requirements += [
            SecurityRequirement(schemes=dict(zip(names, scopes.values(), strict=True)))
            for names in islice(product(*choices), MAX_ALTERNATIVES)
        ]
    return tuple(requirements)


def _read_scheme(scheme: Fields) -> tuple[SecurityScheme, ...]:
    """Read one scheme: as many as it has flows, none if its type is not known."""
    kind = scheme.text("type")
    member = _MEMBERS.get(kind)
    if member is None:
        return ()
    found = _present(scheme)
    if kind == "apiKey":
        found["location"] = scheme.required_text("in")
    elif kind == "oauth2":
        flows = _read_flows(scheme)
        if not flows:
            # A flow that these versions have no name for still ends in a bearer token.
            return (_converted(scheme, "httpAuthSecurityScheme", {**found, "scheme": "Bearer"}),)
        return tuple([_converted(scheme, member, {**found, "flows": flow}) for flow in flows])
    return (_converted(scheme, member, found),)


def _read_flows(scheme: Fields) -> list[JsonObject]:
    """Return the known flows of a scheme, each as the only one."""
    flows = scheme.at("flows")
    if flows is None:
        raise InvalidParamsError.of(scheme.place("flows"), "is required")
    found = [(name, flows.at(name)) for name in _FLOWS]
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


def requirement_members(requirements: tuple[SecurityRequirement, ...]) -> list[JsonObject]:
    """Return the member ``security`` of a card or a skill."""
    return [
        {name: scopes.list for name, scopes in requirement.schemes.items()}
        for requirement in requirements
    ]


def scheme_members(scheme: SecurityScheme) -> JsonObject:
    """Return the members of a scheme, ``type`` first. A device code flow has no place here."""
    ((member, value),) = cast("dict[str, JsonObject]", msgspec.to_builtins(scheme)).items()
    kind = _TYPES[member]
    if kind == "apiKey":
        value["in"] = value.pop("location")
    elif kind == "oauth2":
        flows = cast("dict[str, JsonObject]", value["flows"])
        value["flows"] = {
            name: _flow_members(flow) for name, flow in flows.items() if name in _FLOWS
        }
    return {"type": kind, **value}


def _flow_members(flow: JsonObject) -> JsonObject:
    flow.pop("pkceRequired", None)
    return {"scopes": {}, **flow}
