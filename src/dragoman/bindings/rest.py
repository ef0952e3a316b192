"""HTTP+JSON: paths, queries and statuses (reference section 4).

Paths come in as they were sent, percent-encoded, so that an id may hold an encoded slash (Q-27).
They are relative to the interface's URL; hosts and prefixes are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Raw, Struct

from dragoman.bindings.base import require_utf8
from dragoman.dialects.base import Reading
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import (
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
)
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from dragoman.dialects.base import RestDialect

__all__ = ("MAX_QUERY_FIELDS", "RESERVED_SEGMENTS", "Match", "Router", "read_request")

MAX_QUERY_FIELDS: Final = 100
"""No request has more than eight; the rest is room for what others add."""

RESERVED_SEGMENTS: Final = frozenset(
    {
        "v1",
        "api",
        "a2a",
        "agent",
        "tasks",
        "message",
        "console",
        "healthz",
        "readyz",
        "metrics",
        ".well-known",
    }
)
"""First segments that are never a tenant: routes of ours begin with them."""

_NOT_UTF8: Final = "The path or query is not percent-encoded UTF-8"
_LONG_QUERY: Final = f"The query has more than {MAX_QUERY_FIELDS} fields"

_encode: Final = msgspec.json.Encoder().encode
_decode_object: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class Match(Struct, frozen=True, gc=False):
    """What a path and an HTTP method ask for.

    Attributes:
        verb: the HTTP method.
        tenant: from the path, "" on the routes without one.
        fields: the ids in the path, by JSON name (``id``, ``taskId``).
    """

    operation: Operation
    verb: str
    tenant: str
    fields: dict[str, str]


class _Segment(Struct, frozen=True, gc=False):
    """One segment of a template: a literal, or a variable that may end in a verb."""

    literal: str = ""
    variable: str = ""
    verb: str = ""


class _Route(Struct, frozen=True, gc=False):
    segments: tuple[_Segment, ...]
    operations: Mapping[str, Operation]
    """By HTTP method."""


def _parse_segment(text: str) -> _Segment:
    if not text.startswith("{"):
        return _Segment(literal=text)
    variable, _, verb = text[1:].partition("}")
    return _Segment(variable=variable, verb=verb)


class Router:
    """Finds the operation of a path among the routes of one wire form."""

    __slots__ = ("_has_tenants", "_routes")

    def __init__(
        self, routes: Mapping[str, Mapping[str, Operation]], *, has_tenants: bool = False
    ) -> None:
        """Prepare the templates; with tenants, each also stands behind the name of one."""
        self._has_tenants = has_tenants
        self._routes = tuple(
            _Route(tuple(_parse_segment(part) for part in template.split("/")[1:]), operations)
            for template, operations in routes.items()
        )

    def match(self, method: str, path: str) -> Match:
        """Find the operation for an HTTP method and a path; a slash at its end is accepted.

        The routes without tenant are tried first; a reserved first segment is never a tenant.

        Raises:
            MethodNotFoundError: there is no such path.
            MethodNotAllowedError: there is, but not for this method.
            InvalidRequestError: the path is not percent-encoded UTF-8.
        """
        first, *parts = path.removesuffix("/").split("/")
        if first or not parts:
            raise MethodNotFoundError
        tenant, found = "", self._find(parts)
        if found is None and self._has_tenants:
            tenant, found = _unquote(parts[0]), self._find(parts[1:])
            if not tenant or tenant in RESERVED_SEGMENTS:
                found = None
        if found is None:
            raise MethodNotFoundError
        route, fields = found
        operation = route.operations.get(method)
        if operation is None:
            raise MethodNotAllowedError(tuple(route.operations))
        return Match(operation, method, tenant, fields)

    def _find(self, parts: list[str]) -> tuple[_Route, dict[str, str]] | None:
        for route in self._routes:
            if len(route.segments) == len(parts):
                fields = _fields_of(route.segments, parts)
                if fields is not None:
                    return route, fields
        return None


def _fields_of(segments: tuple[_Segment, ...], parts: list[str]) -> dict[str, str] | None:
    """Return the variables of a path that has this shape, else None."""
    fields: dict[str, str] = {}
    for segment, part in zip(segments, parts, strict=True):
        if segment.literal:
            if segment.literal != part and segment.literal != _unquote(part):
                return None
        elif part.endswith(segment.verb) and len(part) > len(segment.verb):
            fields[segment.variable] = _unquote(part.removesuffix(segment.verb))
        else:
            return None
    return fields


def _unquote(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidRequestError(_NOT_UTF8) from None


def read_request(match: Match, query: str, body: bytes, dialect: RestDialect) -> Reading:
    """Read the request of a matched route: POST from its body, the others from the query.

    An id in the path rules over one in the body. The tenant may be in the path, the body or the
    query, but nowhere a different one (Q-07).

    Raises:
        A2AError: path, query and body do not make a request.
    """
    options = _read_query(query) if query else {}
    if match.verb == "POST":
        require_utf8(body)
        params = _with_fields(body, match.fields) if match.fields else body
        reading = dialect.decode_request(match.operation, params or b"{}")
    else:
        fields = options | match.fields
        reading = Reading(dialect.decode_query(match.operation, fields), dialect)
    request = reading.request
    tenants = {match.tenant, request.tenant, options.get("tenant", "")} - {""}
    if len(tenants) > 1:
        raise InvalidParamsError.of("tenant", "differs between path, query and body")
    if tenants and not request.tenant:
        request = msgspec.structs.replace(request, tenant=tenants.pop())
        return reading._replace(request=request)
    return reading


def _read_query(query: str) -> dict[str, str]:
    """Return the query by name; of several with one name the last counts (reference 4.3)."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except UnicodeDecodeError:
        raise InvalidRequestError(_NOT_UTF8) from None
    except ValueError:
        raise InvalidRequestError(_LONG_QUERY) from None
    return dict(pairs)


def _with_fields(body: bytes, fields: dict[str, str]) -> bytes:
    """Put the ids of the path into the body; an empty body is an empty object."""
    try:
        members = _decode_object(body or b"{}")
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None
    # The proto's spelling of the one id with two words must not stay beside ours.
    members.pop("task_id", None)
    return _encode(members | {name: Raw(_encode(value)) for name, value in fields.items()})
