"""Which wire form a request is in.

Method names and paths tell 1.0 from what came before. Three methods are shared by 0.1 and 0.3, and
two shapes of JSON by one route of 0.3: there the task a request names decides, by the form in which
it was begun. The rows D1 to D20 are those of the 0.x reference, section 6.1.

A lenient server, the default, reads what peers are known to write; a strict one is for conformance
runs and keeps to the letter of each version. Both answer alike. What the dialects of 0.x refuse
when they are strict is said where they are made (``V0_3``, ``V0_1``); 1.0 then refuses what only
``Mixed`` reads. On the routes of 0.3 and on gRPC a strict server minds the stated version alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from dragoman.bindings.rest import Router
from dragoman.dialects import negotiation
from dragoman.dialects.base import RestDialect, RpcDialect
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.negotiation import check_version, parse_version
from dragoman.dialects.profiles.rxjs.requests import RESUME
from dragoman.dialects.profiles.rxjs_dialects import (
    RXJS_DIALECT,
    RXJS_REST_DIALECT,
    RXJS_REST_TOOLS_DIALECT,
    RXJS_TOOLS_DIALECT,
)
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.dialects.v0_1.methods import METHODS as METHODS_0_1
from dragoman.dialects.v0_3.codec import (
    V0_3,
    V0_3_DIALECT,
    V0_3_REST_DIALECT,
    V0_3_REST_TYPE_DIALECT,
    V0_3_TYPE_DIALECT,
)
from dragoman.dialects.v0_3.methods import METHODS as METHODS_0_3
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT, V0_3_PROTO_RAW_DIALECT
from dragoman.dialects.v0_3_proto.routes import ROUTES as ROUTES_0_3
from dragoman.dialects.v0_3_proto.shape import is_proto_json
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.lenient import MIXED_DIALECT
from dragoman.dialects.v1_0.methods import METHODS
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import InvalidParamsError, JSONParseError, MethodNotFoundError
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    Request,
    SendMessageRequest,
    SubscribeToTaskRequest,
)

__all__ = (
    "OLD_ROUTER",
    "ROUTER",
    "Method",
    "dialect_of_origin",
    "find_method",
    "is_method",
    "rest_shape",
    "route_dialect",
    "rxjs_method",
    "rxjs_of_origin",
    "rxjs_voice",
    "shape_of_origin",
    "task_hinted",
    "task_named",
    "task_shown",
    "unread_voice",
    "voice_of",
)

_logger = logging.getLogger(__name__)

ROUTER: Final = Router(ROUTES, has_tenants=True)
OLD_ROUTER: Final = Router(ROUTES_0_3)


# --- JSON-RPC -----------------------------------------------------------------------------------


class Method(NamedTuple):
    """What a JSON-RPC method name means.

    ``is_shared``: 0.1 has a method of the same name, so the task it is about tells the version.
    """

    dialect: RpcDialect
    operation: Operation
    is_shared: bool = False


def _by_name(*dialects: RpcDialect) -> Mapping[str, RpcDialect]:
    return {dialect.name: dialect for dialect in dialects}


def _methods(dialects: Mapping[str, RpcDialect]) -> Mapping[str, Method]:
    v1_0, v0_3, v0_1 = dialects["1.0"], dialects["0.3"], dialects["0.1"]
    found = {name: Method(v1_0, operation) for name, operation in METHODS.items()}
    found |= {name: Method(v0_1, operation) for name, operation in METHODS_0_1.items()}
    for name, operation in METHODS_0_3.items():
        found[name] = Method(v0_3, operation, is_shared=name in METHODS_0_1)
    return found


_LENIENT: Final = _by_name(
    MIXED_DIALECT, V0_3_DIALECT, V0_3_TYPE_DIALECT, V0_1_DIALECT, V0_1(has_kind=True)
)
_STRICT: Final = _by_name(
    V1_0_DIALECT,
    V0_3(is_strict=True),
    V0_3(V0_3_TYPE_DIALECT.name, is_dual=True, is_strict=True),
    V0_1(is_strict=True),
    V0_1(has_kind=True, is_strict=True),
)
_DIALECTS: Final = {False: _LENIENT, True: _STRICT}
_METHODS: Final = {is_strict: _methods(dialects) for is_strict, dialects in _DIALECTS.items()}

_TOLD_BY_ORIGIN: Final = frozenset({"0.1", "0.1+kind", "0.3+type"})


def find_method(name: str, version: str | None, *, is_strict: bool) -> Method:
    """Return what a method name means in a request that states this version, if any.

    Raises:
        VersionNotSupportedError: the version is not served, or does not go with the method.
        MethodNotFoundError: there is no such method.
    """
    method = _METHODS[is_strict].get(name)
    if method is None:
        raise MethodNotFoundError(f"There is no method {name[:100]!r}")
    if name in METHODS:
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
        stated_name = "0.1" if stated == negotiation.V0_1 else "0.3"
        return Method(_DIALECTS[is_strict][stated_name], method.operation)
    return method


def is_method(name: str) -> bool:
    """Tell whether any version of A2A has a method of this name."""
    return name in _METHODS[False]


def voice_of(name: str, version: str | None, *, is_strict: bool) -> RpcDialect:
    """Return the dialect in which to refuse a request for this method; "" if that is not known."""
    method = _METHODS[is_strict].get(name)
    stated = parse_version(version) if version else None
    if method is None:
        if stated in negotiation.OLD:
            return V0_1_DIALECT if stated == negotiation.V0_1 else V0_3_DIALECT
        # Only the names of 0.x have a slash.
        return V0_3_DIALECT if "/" in name else V1_0_DIALECT
    if is_strict and stated == negotiation.V1_0:
        return V1_0_DIALECT  # D2
    return method.dialect


def unread_voice(version: str | None) -> RpcDialect:
    """Return the dialect in which to refuse a request at the door, before its method is known.

    R-3.6.2-3: one that states no version is of 0.3.
    """
    stated = parse_version(version) if version else None
    if not version or stated in negotiation.OLD:
        return V0_1_DIALECT if stated == negotiation.V0_1 else V0_3_DIALECT
    return V1_0_DIALECT


def task_named(operation: Operation, params: bytes) -> str:
    """Return the id of the task that a request by a shared method names.

    It is read leniently by a strict server too: in whose words it must be, the task will tell.

    Raises:
        JSONParseError, InvalidParamsError: the params name no task.
    """
    return task_shown(V0_3_DIALECT.decode_request(operation, params).request)


def task_hinted(params: bytes) -> str:
    """Return the id of the task that params name, "" if they do not."""
    try:
        return Fields(read_json(params)).text("id", "taskId")
    except (JSONParseError, InvalidParamsError):
        return ""


def task_shown(request: Request) -> str:
    """Return the id of the task that the answer to a request shows, "" if it does not name one."""
    if isinstance(request, SendMessageRequest):
        return request.message.task_id
    named = (GetTaskRequest, CancelTaskRequest, SubscribeToTaskRequest)
    return request.id if isinstance(request, named) else ""


def dialect_of_origin(origin: str, *, is_strict: bool) -> RpcDialect:
    """Return in which dialect to speak of a task by a shared method (D6): as it was begun.

    A task that was begun in a version with other method names, or is not known (D7), is one of 0.3.
    """
    return _DIALECTS[is_strict][origin if origin in _TOLD_BY_ORIGIN else "0.3"]


# --- the RxJS profile ---------------------------------------------------------------------------


def rxjs_method(name: str, version: str | None, *, is_stream: bool, is_strict: bool) -> Method:
    """Return what a method name means at the address of the RxJS profile.

    The names of 0.3 are those of the profile there; the others mean what they mean elsewhere.

    Args:
        is_stream: the client takes a stream for an answer.

    Raises:
        VersionNotSupportedError, MethodNotFoundError: as ``find_method`` does.
    """
    if name == RESUME:
        sends = Operation.SEND_STREAMING_MESSAGE if is_stream else Operation.SEND_MESSAGE
        return Method(RXJS_TOOLS_DIALECT, sends)
    operation = METHODS_0_3.get(name)
    if operation is None:
        try:
            return find_method(name, version, is_strict=is_strict)
        except MethodNotFoundError as error:
            error.metadata["method"] = name[:100]
            raise
    if operation is Operation.GET_TASK and is_stream:
        operation = Operation.SUBSCRIBE_TO_TASK
    return Method(RXJS_DIALECT, operation, is_shared=name in METHODS_0_1)


def rxjs_of_origin(origin: str) -> RpcDialect:
    """Return in which form of the profile to speak of a task: as it was begun."""
    return RXJS_TOOLS_DIALECT if origin == RXJS_TOOLS_DIALECT.name else RXJS_DIALECT


def rxjs_voice(name: str) -> RpcDialect | None:
    """Return the dialect in which to refuse a request there, None if it is none of the profile."""
    return None if name in METHODS else RXJS_DIALECT


# --- HTTP+JSON ----------------------------------------------------------------------------------


def route_dialect(*, is_strict: bool) -> RestDialect:
    """Return the dialect of the routes of 1.0."""
    return V1_0_DIALECT if is_strict else MIXED_DIALECT


def rest_shape(body: bytes, *, has_rxjs: bool = False) -> RestDialect:
    """Return the shape in which a message is sent to a route of 0.3 (section 6.2).

    Args:
        has_rxjs: the RxJS profile is spoken; it has the JSON of the schema.
    """
    if is_proto_json(body):
        return V0_3_PROTO_DIALECT
    return RXJS_REST_DIALECT if has_rxjs else V0_3_REST_DIALECT


_SHAPES: Final[Mapping[str, RestDialect]] = {
    shape.name: shape
    for shape in (
        V0_3_REST_DIALECT,
        V0_3_REST_TYPE_DIALECT,
        V0_3_PROTO_RAW_DIALECT,
        RXJS_REST_DIALECT,
        RXJS_REST_TOOLS_DIALECT,
    )
}


def shape_of_origin(origin: str) -> RestDialect:
    """Return the shape in which to speak about a task on the routes of 0.3 (section 6.2)."""
    return _SHAPES.get(origin, V0_3_PROTO_DIALECT)
