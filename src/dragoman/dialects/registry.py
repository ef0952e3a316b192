"""Which dialect speaks: the one place that knows all of them, for servers and clients.

Method names and paths tell 1.0 from what came before. Three methods are shared by 0.1 and 0.3, and
two shapes of JSON by one route of 0.3: there the task a request names decides, by the form in which
it was begun. The rows D1 to D20 are those of the 0.x reference, section 6.1.

A lenient server, the default, reads what peers are known to write; a strict one is for conformance
runs and keeps to the letter of each version. Both answer alike. What the dialects of 0.x refuse
when they are strict is said where they are made (``V0_3``, ``V0_1``); 1.0 then refuses what only
``Mixed`` reads. On the routes of 0.3 and on gRPC a strict server minds the stated version alone.

To add a version, write its folder and list its dialects here; to add a profile, see ``PROFILES``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Final, Literal, TypeAlias

from dragoman.dialects import negotiation
from dragoman.dialects.base import Method, RestDialect, RpcDialect
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.negotiation import Version, check_version, parse_version
from dragoman.dialects.profiles.base import CalledProfile, Profile, Serving
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
from dragoman.errors import InvalidParamsError, JSONParseError, MethodNotFoundError, UsageError
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    Request,
    SendMessageRequest,
    SubscribeToTaskRequest,
)

__all__ = (
    "BINDINGS",
    "PROFILES",
    "PROFILE_HEADERS",
    "ROUTES",
    "ROUTES_0_3",
    "Binding",
    "Profiles",
    "called_as",
    "called_form",
    "called_rest",
    "called_routes",
    "called_rpc",
    "dialect_of_origin",
    "find_method",
    "is_method",
    "is_newest_method",
    "older_versions",
    "other_shape",
    "profile_names",
    "refusal_dialect",
    "rest_shape",
    "route_dialect",
    "shape_of_origin",
    "shown_profiles",
    "task_hinted",
    "task_named",
    "task_shown",
    "unread_dialect",
    "webhook_dialect",
)

_logger = logging.getLogger(__name__)


# --- profiles -----------------------------------------------------------------------------------


def _profile(name: str) -> Profile:
    profile = import_module(f"dragoman.dialects.profiles.{name}.profile").PROFILE
    assert isinstance(profile, Profile)  # noqa: S101 - the table below is ours
    return profile


PROFILES: Final = (
    _profile("rxjs"),
    _profile("xpr"),
)
"""What single frameworks and networks have made of A2A, each in its folder of ``profiles/``."""

PROFILE_HEADERS: Final = frozenset(name for profile in PROFILES for name in profile.headers)
"""The headers that requests of profiles have."""


def profile_names() -> tuple[str, ...]:
    """Return the profiles that settings, and users of clients, may name."""
    return tuple(profile.name for profile in PROFILES if profile.is_setting)


class Profiles:
    """The profiles that one server speaks.

    Attributes:
        at: returns the profile whose JSON-RPC requests arrive at a path, None if there is none.
        receivers: those through which messages of every dialect go.
        marks_traces: one of them wants the ids of trace and span in the metadata of events.
        rest_dialect: the JSON in which one of them speaks on the routes of 0.3, if any does.
    """

    def __init__(self, serving: Serving) -> None:
        served = [profile.serve(serving) for profile in PROFILES]
        spoken = [profile for profile in served if profile is not None]
        # Every request asks, so this is the dictionary's own method.
        self.at: Final = {profile.path: profile for profile in spoken}.get
        self.receivers: Final = tuple(profile for profile in spoken if profile.receives_all)
        self.marks_traces: Final = any(profile.marks_traces for profile in spoken)
        self.rest_dialect: Final = next(
            (profile.rest_dialect for profile in spoken if profile.rest_dialect), None
        )


def shown_profiles(members: Collection[str]) -> tuple[CalledProfile, ...]:
    """Return the profiles that a card with these members shows its agent to speak."""
    return tuple(profile.called for profile in PROFILES if profile.called.is_shown_by(members))


def called_as(name: str) -> CalledProfile:
    """Return the profile that the user of a client names.

    Raises:
        UsageError: there is no such profile.
    """
    for profile in PROFILES:
        if profile.is_setting and profile.name == name:
            return profile.called
    raise UsageError(f"there is no profile {name!r}: choose from {', '.join(profile_names())}")


# --- JSON-RPC -----------------------------------------------------------------------------------


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


def is_newest_method(name: str) -> bool:
    """Tell whether the newest version has a method of this name."""
    return name in METHODS


def refusal_dialect(name: str, version: str | None, *, is_strict: bool) -> RpcDialect:
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


def unread_dialect(version: str | None) -> RpcDialect:
    """Return the dialect in which to refuse a request before its method is known.

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


# --- HTTP+JSON ----------------------------------------------------------------------------------


def route_dialect(*, is_strict: bool) -> RestDialect:
    """Return the dialect of the routes of 1.0."""
    return V1_0_DIALECT if is_strict else MIXED_DIALECT


def rest_shape(body: bytes, plain: RestDialect | None = None) -> RestDialect:
    """Return the shape in which a message is sent to a route of 0.3 (section 6.2).

    Args:
        plain: what reads the JSON of the schema, if a profile does.
    """
    return V0_3_PROTO_DIALECT if is_proto_json(body) else plain or V0_3_REST_DIALECT


_SHAPES: Final[Mapping[str, RestDialect]] = {
    shape.name: shape
    for shape in (
        V0_3_REST_DIALECT,
        V0_3_REST_TYPE_DIALECT,
        V0_3_PROTO_RAW_DIALECT,
        *(shape for profile in PROFILES for shape in profile.origins),
    )
}


def shape_of_origin(origin: str) -> RestDialect:
    """Return the shape in which to speak about a task on the routes of 0.3 (section 6.2)."""
    return _SHAPES.get(origin, V0_3_PROTO_DIALECT)


# --- webhooks -----------------------------------------------------------------------------------


def webhook_dialect(origin: str, task_id: str) -> RpcDialect:
    """Return the form to tell a webhook in that was registered in ``origin`` (R-3.5.1-3).

    Whatever binding it came by. 0.x reference, 5.11.
    """
    if origin.startswith("0.1"):
        return V0_1(task_id, has_kind=origin.endswith("+kind"))
    if origin.startswith("0."):
        return V0_3_TYPE_DIALECT if origin.endswith("+type") else V0_3_DIALECT
    return V1_0_DIALECT


# --- calling ------------------------------------------------------------------------------------

Binding: TypeAlias = Literal["JSONRPC", "HTTP+JSON", "GRPC"]
BINDINGS: Final[tuple[Binding, ...]] = ("JSONRPC", "HTTP+JSON", "GRPC")

Routes: TypeAlias = Mapping[str, Mapping[str, Operation]]
"""Operations by HTTP method by template of the path."""

_V0_2: Final = Version(0, 2)
_PROTO: Final = "0.3-proto"

_FORMS: Final[Mapping[Binding, Mapping[Version, str]]] = {
    "JSONRPC": {
        negotiation.V1_0: V1_0_DIALECT.name,
        negotiation.V0_3: V0_3_DIALECT.name,
        _V0_2: V0_3_DIALECT.name,
        negotiation.V0_1: V0_1_DIALECT.name,
    },
    # 0.x reference, 4.5: most peers have ProtoJSON there, some the JSON of the schema.
    "HTTP+JSON": {
        negotiation.V1_0: V1_0_DIALECT.name,
        negotiation.V0_3: _PROTO,
        _V0_2: _PROTO,
    },
    "GRPC": {
        negotiation.V1_0: V1_0_DIALECT.name,
        negotiation.V0_3: V0_3_DIALECT.name,
        _V0_2: V0_3_DIALECT.name,
    },
}

# 0.x reference, 6.4: SendMessage, then message/send, then tasks/send.
_OLDER: Final[Mapping[Binding, Mapping[Version, tuple[Version, ...]]]] = {
    "JSONRPC": {
        negotiation.V1_0: (negotiation.V0_3, negotiation.V0_1),
        negotiation.V0_3: (negotiation.V0_1,),
        _V0_2: (negotiation.V0_1,),
        negotiation.V0_1: (_V0_2,),
    },
    "HTTP+JSON": {negotiation.V1_0: (negotiation.V0_3,)},
    "GRPC": {negotiation.V1_0: (negotiation.V0_3,)},
}

_CALLED_RPC: Final[Mapping[str, RpcDialect]] = {
    V1_0_DIALECT.name: V1_0_DIALECT,
    V0_3_DIALECT.name: V0_3_DIALECT,
    V0_1_DIALECT.name: V0_1_DIALECT,
    **{profile.name: profile.called.dialect for profile in PROFILES},
}

_CALLED_REST: Final[Mapping[str, RestDialect]] = {
    V1_0_DIALECT.name: V1_0_DIALECT,
    _PROTO: V0_3_PROTO_DIALECT,
    V0_3_DIALECT.name: V0_3_REST_DIALECT,
}


def called_form(binding: Binding, version: Version) -> str | None:
    """Return the form in which to call an interface, None if its version is not known there."""
    return _FORMS[binding].get(version)


def older_versions(binding: Binding, version: Version) -> tuple[Version, ...]:
    """Return the versions that an agent may speak which does not understand this one."""
    return _OLDER[binding].get(version, ())


def other_shape(form: str) -> str | None:
    """Return the form that some peers have where most have this one."""
    return V0_3_DIALECT.name if form == _PROTO else None


def called_rpc(form: str) -> RpcDialect:
    """Return the dialect of a form on JSON-RPC."""
    return _CALLED_RPC[form]


def called_rest(form: str) -> RestDialect:
    """Return the dialect of a form on HTTP+JSON."""
    return _CALLED_REST[form]


def called_routes(form: str) -> Routes:
    """Return the routes on which a form is called."""
    return ROUTES if form == V1_0_DIALECT.name else ROUTES_0_3
