"""Which wire form a request is in.

Method names and paths tell 1.0 from what came before. Three methods are shared by 0.1 and 0.3, and
two shapes of JSON by one route of 0.3: there the task a request names decides, by the form in which
it was begun. The rows D1 to D20 are those of the 0.x reference, section 6.1.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from dragoman.bindings.rest import Router
from dragoman.dialects import negotiation
from dragoman.dialects.base import RestDialect, RpcDialect
from dragoman.dialects.negotiation import check_version, parse_version
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.dialects.v0_1.methods import METHODS as METHODS_0_1
from dragoman.dialects.v0_3.codec import V0_3_DIALECT, V0_3_REST_DIALECT, V0_3_TYPE_DIALECT
from dragoman.dialects.v0_3.methods import METHODS as METHODS_0_3
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.dialects.v0_3_proto.routes import ROUTES as ROUTES_0_3
from dragoman.dialects.v0_3_proto.shape import is_proto_json
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.methods import METHODS
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import MethodNotFoundError
from dragoman.model.operations import Operation

__all__ = (
    "OLD_ROUTER",
    "ROUTER",
    "Method",
    "dialect_of_origin",
    "find_method",
    "rest_shape",
    "shape_of_origin",
    "voice_of",
)

_logger = logging.getLogger(__name__)

ROUTER: Final = Router(ROUTES, has_tenants=True)
OLD_ROUTER: Final = Router(ROUTES_0_3)


class Method(NamedTuple):
    """What a JSON-RPC method name means.

    ``is_shared``: 0.1 has a method of the same name, so the task it is about tells the version.
    """

    dialect: RpcDialect
    operation: Operation
    is_shared: bool = False


def _methods() -> Mapping[str, Method]:
    found = {name: Method(V1_0_DIALECT, operation) for name, operation in METHODS.items()}
    found |= {name: Method(V0_1_DIALECT, operation) for name, operation in METHODS_0_1.items()}
    for name, operation in METHODS_0_3.items():
        found[name] = Method(V0_3_DIALECT, operation, is_shared=name in METHODS_0_1)
    return found


_METHODS: Final = _methods()


def find_method(name: str, version: str | None, *, is_strict: bool) -> Method:
    """Return what a method name means in a request that states this version, if any.

    Raises:
        VersionNotSupportedError: the version is not served, or does not go with the method.
        MethodNotFoundError: there is no such method.
    """
    method = _METHODS.get(name)
    if method is None:
        raise MethodNotFoundError(f"There is no method {name[:100]!r}")
    if method.dialect is V1_0_DIALECT:
        if version != "1.0":
            check_version(version, is_old=False, is_strict=is_strict)
        return method
    stated = parse_version(version) if version else None
    if stated == negotiation.V1_0:
        if is_strict:
            raise MethodNotFoundError(f"There is no method {name[:100]!r} in 1.0")  # D2
        _logger.debug("a request for %s says that it is 1.0; it is answered as 0.3", name)
        return method
    check_version(version, is_old=True, is_strict=is_strict)
    if method.is_shared and stated is not None:
        dialect = V0_1_DIALECT if stated == negotiation.V0_1 else V0_3_DIALECT
        return Method(dialect, method.operation)
    return method


def voice_of(name: str, version: str | None, *, is_strict: bool) -> RpcDialect:
    """Return the dialect in which to refuse a request for this method."""
    method = _METHODS.get(name)
    if method is None:
        # Only the names of 0.x have a slash.
        return V0_3_DIALECT if "/" in name else V1_0_DIALECT
    if is_strict and version and parse_version(version) == negotiation.V1_0:
        return V1_0_DIALECT  # D2
    return method.dialect


_BY_ORIGIN: Final[Mapping[str, RpcDialect]] = {
    dialect.name: dialect for dialect in (V0_1_DIALECT, V0_1(has_kind=True), V0_3_TYPE_DIALECT)
}


def dialect_of_origin(origin: str) -> RpcDialect:
    """Return in which dialect to speak of a task by a shared method (D6): as it was begun.

    A task that was begun in a version with other method names, or is not known (D7), is one of 0.3.
    """
    return _BY_ORIGIN.get(origin, V0_3_DIALECT)


def rest_shape(body: bytes) -> RestDialect:
    """Return the shape in which a message is sent to a route of 0.3 (section 6.2)."""
    return V0_3_PROTO_DIALECT if is_proto_json(body) else V0_3_REST_DIALECT


def shape_of_origin(origin: str) -> RestDialect:
    """Return the shape in which to speak about a task on the routes of 0.3 (section 6.2)."""
    return V0_3_REST_DIALECT if origin == V0_3_REST_DIALECT.name else V0_3_PROTO_DIALECT
