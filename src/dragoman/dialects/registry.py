"""Which dialect speaks: the one place that knows all of them, for servers and clients.

Method names and paths tell 1.0 from what came before. Three methods are shared by 0.1 and 0.3, and
two shapes of JSON by one route of 0.3: there the task a request names decides, by the form in which
it was begun. The rows D1 to D20 are those of the 0.x reference, section 6.1.

A lenient server, the default, reads what peers are known to write; a strict one is for conformance
runs and keeps to the letter of each version. Both answer alike. What the dialects of 0.x refuse
when they are strict is said where they are made (``V0_3``, ``V0_1``); 1.0 then refuses what only
``Mixed`` reads. The routes of 0.3 and its gRPC (``Decoder`` of ``v0_3_proto``) do so as well.

To add a version, write its folder and list it in ``RELEASES``; to add a profile, see ``PROFILES``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import fields

from dragoman.dialects import negotiation
from dragoman.dialects.base import CardRules, Evidence, Method, RestDialect, RpcDialect
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.file_bytes import FileBytes
from dragoman.dialects.negotiation import Version, parse_version
from dragoman.dialects.profiles.base import CalledProfile, Profile, Serving
from dragoman.dialects.v0_1.card import CARD as CARD_0_1
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.dialects.v0_1.methods import METHODS as METHODS_0_1
from dragoman.dialects.v0_3.card import CARD as CARD_0_3
from dragoman.dialects.v0_3.card import CARD_0_2
from dragoman.dialects.v0_3.codec import (
    V0_3,
    V0_3_DIALECT,
    V0_3_REST_DIALECT,
    V0_3_REST_TYPE_DIALECT,
    V0_3_TYPE_DIALECT,
)
from dragoman.dialects.v0_3.methods import METHODS as METHODS_0_3
from dragoman.dialects.v0_3_proto.codec import (
    V0_3_PROTO_DIALECT,
    V0_3_PROTO_RAW_DIALECT,
    CalledV0_3Proto,
    V0_3Proto,
)
from dragoman.dialects.v0_3_proto.routes import ROUTES as ROUTES_0_3
from dragoman.dialects.v0_3_proto.shape import has_kinds, is_proto_json
from dragoman.dialects.v1_0.card import CARD as CARD_1_0
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.lenient import MIXED_DIALECT
from dragoman.dialects.v1_0.methods import METHODS
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import (
    InvalidParamsError,
    JSONParseError,
    MethodNotFoundError,
    UsageError,
    VersionNotSupportedError,
)
from dragoman.model.cards import AgentCard
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
    "NEWEST",
    "PROFILES",
    "PROFILE_HEADERS",
    "RELEASES",
    "ROUTES",
    "ROUTES_0_3",
    "Binding",
    "Profiles",
    "Release",
    "called_as",
    "called_form",
    "called_rest",
    "called_routes",
    "called_rpc",
    "check_version",
    "dialect_of_origin",
    "find_method",
    "is_method",
    "is_newest",
    "is_newest_method",
    "older_versions",
    "other_shape",
    "profile_names",
    "proto_shape",
    "read_card",
    "refusal_dialect",
    "release_of",
    "rest_shape",
    "route_dialect",
    "route_shape",
    "route_shape_of_origin",
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


# --- versions -----------------------------------------------------------------------------------

Binding: TypeAlias = Literal["JSONRPC", "HTTP+JSON", "GRPC"]
BINDINGS: Final[tuple[Binding, ...]] = ("JSONRPC", "HTTP+JSON", "GRPC")

Routes: TypeAlias = Mapping[str, Mapping[str, Operation]]
"""Operations by HTTP method by template of the path."""


class Release(Struct, frozen=True, kw_only=True, eq=False):
    """A version of A2A as it is registered.

    Attributes:
        card: how it has the card.
        methods: its operations by their name on JSON-RPC.
        rpc: its form there, in which it is called, and requests are refused.
        lenient, strict: what reads its requests there, on a server of that kind.
        rest, routes: the form and the routes by which it is called over HTTP+JSON, if it is.
        bindings: those on which it is called.
        listed: those on which our cards may offer it.
        resembles: the versions that an agent may speak whose card looks like one of this.
    """

    version: Version
    card: CardRules
    methods: Mapping[str, Operation]
    rpc: RpcDialect
    lenient: RpcDialect
    strict: RpcDialect
    rest: RestDialect | None = None
    routes: Routes = {}
    bindings: tuple[Binding, ...] = BINDINGS
    listed: tuple[Binding, ...] = BINDINGS
    resembles: tuple[Version, ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether it is one of those before 1.0."""
        return self.rpc.has_final


_V0_2: Final = Version(0, 2)
_V0_3_STRICT: Final = V0_3(is_strict=True)

RELEASES: Final = (
    Release(
        version=negotiation.V1_0,
        card=CARD_1_0,
        methods=METHODS,
        rpc=V1_0_DIALECT,
        lenient=MIXED_DIALECT,
        strict=V1_0_DIALECT,
        rest=V1_0_DIALECT,
        routes=ROUTES,
    ),
    Release(
        version=negotiation.V0_3,
        card=CARD_0_3,
        methods=METHODS_0_3,
        rpc=V0_3_DIALECT,
        lenient=V0_3_DIALECT,
        strict=_V0_3_STRICT,
        # 0.x reference, 4.5: most peers have ProtoJSON there, some the JSON of the schema.
        rest=V0_3_PROTO_DIALECT,
        routes=ROUTES_0_3,
    ),
    Release(
        version=_V0_2,
        card=CARD_0_2,
        methods=METHODS_0_3,
        rpc=V0_3_DIALECT,
        lenient=V0_3_DIALECT,
        strict=_V0_3_STRICT,
        rest=V0_3_PROTO_DIALECT,
        routes=ROUTES_0_3,
        listed=("JSONRPC",),
    ),
    Release(
        version=negotiation.V0_1,
        card=CARD_0_1,
        methods=METHODS_0_1,
        rpc=V0_1_DIALECT,
        lenient=V0_1_DIALECT,
        strict=V0_1(is_strict=True),
        bindings=("JSONRPC",),
        listed=("JSONRPC",),
        resembles=(_V0_2,),
    ),
)
"""The versions, newest first (R-8.3.1-1: which is the order of preference)."""

NEWEST: Final = RELEASES[0].version
"""The version whose data the model is."""

_RELEASES: Final = {release.version: release for release in RELEASES}
_SERVED: Final = tuple(_RELEASES)
_OLD: Final = tuple(release.version for release in RELEASES if release.is_old)
_NEW: Final = tuple(release.version for release in RELEASES if not release.is_old)

_MAX_ECHO: Final = 32
"""How much of an unreadable version an error repeats; a version is a few characters long."""


def release_of(version: Version | None) -> Release | None:
    """Return a version as it is registered, None if it is not known."""
    return _RELEASES.get(version) if version else None


def is_newest(form: str) -> bool:
    """Tell whether a form, by its name, is that of the newest version."""
    return form == RELEASES[0].rpc.name


def check_version(requested: str | None, *, is_old: bool, is_strict: bool) -> Version | None:
    """Return the version a request states, None where it states none that can be read.

    Method names, paths and gRPC services already say whether a request belongs to 1.0 or to the
    versions before it, so the version that it states can only agree with that, be a known mistake,
    or be refused: rows D1 to D5.

    Args:
        requested: the A2A-Version of the request; None or "" when it has none.
        is_old: the method, path or service is one of the versions before 1.0.
        is_strict: follow the letter of the text, instead of trusting the method name where the
            version is missing, unreadable or known to be sent by mistake.

    Raises:
        VersionNotSupportedError: the version is not served (R-3.2.6-4); it lists what is.
    """
    stated = parse_version(requested) if requested else None
    if is_strict:
        # R-3.6.2-3: an empty or absent version means 0.3, to the letter.
        meant = stated if requested else negotiation.V0_3
        served = _OLD if is_old else _NEW
        if meant not in served:
            raise _refusal(requested or str(negotiation.V0_3), stated, served)
    elif stated is not None and stated not in _SERVED:
        raise _refusal(requested or "", stated, _SERVED)
    return stated


def _refusal(
    requested: str, stated: Version | None, served: tuple[Version, ...]
) -> VersionNotSupportedError:
    return VersionNotSupportedError(
        str(stated) if stated else requested[:_MAX_ECHO], tuple(str(offer) for offer in served)
    )


_CARD_MEMBERS: Final = frozenset(
    (
        *(field.encode_name for field in fields(AgentCard)),
        # Of the versions before 1.0.
        "additionalInterfaces",
        "authentication",
        "preferredTransport",
        "protocolVersion",
        "security",
        "supportsAuthenticatedExtendedCard",
        "supportsExtendedAgentCard",
        "url",
    )
)


def read_card(data: bytes, place: str) -> tuple[AgentCard, tuple[CalledProfile, ...]]:
    """Read a card of any version that was found at ``place``, and tell what profiles it shows.

    Cards before 0.2.5 do not say which version they are of, and later ones do not always; what
    else they hold tells it. The first evidence counts (0.x reference, 6.4).

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    members = Fields(read_json(data))
    profiles = shown_profiles(members.whole)
    named = {profile.version for profile in profiles}
    for weight in Evidence:
        for release in RELEASES:
            holds = release.card.evidence.get(weight)
            is_named = weight is Evidence.MEMBERS and release.version in named
            if is_named or (holds is not None and holds(members, place)):
                # What is laid out in a way of its own leaves nothing open.
                shown = () if weight is Evidence.SHAPE else profiles
                card = release.card.read(members, data, place)
                others = {n: value for n, value in members.whole.items() if n not in _CARD_MEMBERS}
                return card.with_others(others) if others else card, shown
    raise AssertionError("the oldest version is always likely")


# --- JSON-RPC -----------------------------------------------------------------------------------


def _by_name(*dialects: RpcDialect) -> Mapping[str, RpcDialect]:
    return {dialect.name: dialect for dialect in dialects}


_V0_1_KIND_DIALECT: Final = V0_1(has_kind=True)

_LENIENT: Final = _by_name(
    *(release.lenient for release in RELEASES), V0_3_TYPE_DIALECT, _V0_1_KIND_DIALECT
)
_STRICT: Final = _by_name(
    *(release.strict for release in RELEASES),
    V0_3(V0_3_TYPE_DIALECT.name, is_dual=True, is_strict=True),
    V0_1(has_kind=True, is_strict=True),
)
_DIALECTS: Final = {False: _LENIENT, True: _STRICT}


def _methods(*, is_strict: bool) -> Mapping[tuple[Version | None, str], Method]:
    """Return the methods by version and name, and by name alone for who states no version."""
    found: dict[tuple[Version | None, str], Method] = {}
    # The newest comes last and counts for who states none.
    for release in reversed(RELEASES):
        dialect = release.strict if is_strict else release.lenient
        for name, operation in release.methods.items():
            other = found.get((None, name))
            is_other = other is not None and (other.is_shared or other.dialect is not dialect)
            found[release.version, name] = Method(dialect, operation)
            # From 1.0 on, a request says which version it is of.
            found[None, name] = Method(dialect, operation, is_shared=release.is_old and is_other)
    return found


_METHODS: Final = {is_strict: _methods(is_strict=is_strict) for is_strict in (False, True)}

_TOLD_BY_ORIGIN: Final = frozenset({"0.1", "0.1+kind", "0.3+type"})


def find_method(name: str, version: str | None, *, is_strict: bool) -> Method:
    """Return what a method name means in a request that states this version, if any.

    Raises:
        VersionNotSupportedError: the version is not served, or does not go with the method.
        MethodNotFoundError: there is no such method.
    """
    methods = _METHODS[is_strict]
    stated = parse_version(version) if version else None
    if stated is not None and (method := methods.get((stated, name))) is not None:
        return method
    method = methods.get((None, name))
    if method is None:
        raise MethodNotFoundError(f"There is no method {name[:100]!r}")
    is_old = method.dialect.has_final
    if is_old and stated in _NEW:
        if is_strict:
            raise MethodNotFoundError(f"There is no method {name[:100]!r} in {stated}")  # D2
        _logger.debug("a request for %s says that it is %s; it is answered as 0.3", name, stated)
        return method
    check_version(version, is_old=is_old, is_strict=is_strict)
    return method


def is_method(name: str) -> bool:
    """Tell whether any version of A2A has a method of this name."""
    return (None, name) in _METHODS[False]


def is_newest_method(name: str) -> bool:
    """Tell whether the newest version has a method of this name."""
    return name in RELEASES[0].methods


def refusal_dialect(name: str, version: str | None, *, is_strict: bool) -> RpcDialect:
    """Return the dialect in which to refuse a request for this method; "" if that is not known."""
    method = _METHODS[is_strict].get((None, name))
    release = release_of(parse_version(version) if version else None)
    if method is None:
        if release is not None and release.is_old:
            return release.rpc
        # Only the names of 0.x have a slash.
        return V0_3_DIALECT if "/" in name else RELEASES[0].rpc
    if is_strict and release is not None and not release.is_old:
        return release.rpc  # D2
    return method.dialect


def unread_dialect(version: str | None) -> RpcDialect:
    """Return the dialect in which to refuse a request before its method is known.

    R-3.6.2-3: one that states no version is of 0.3.
    """
    if not version:
        return V0_3_DIALECT
    release = release_of(parse_version(version))
    return RELEASES[0].rpc if release is None else release.rpc


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


def route_dialect(stated: Version | None, *, is_strict: bool) -> RestDialect | None:
    """Return the dialect of a request to a route of 1.0; None where its shape has to tell.

    Some clients of 0.3 leave out the /v1 of its routes. They state that version, or none, which is
    the same (R-3.6.2-3); but so do clients of 1.0 (D1).
    """
    if is_strict:
        return V1_0_DIALECT
    return MIXED_DIALECT if stated in _NEW else None


def route_shape(body: bytes) -> RestDialect:
    """Return the shape in which a message is sent to a route of 1.0."""
    return V0_3_REST_DIALECT if has_kinds(body) else MIXED_DIALECT


def route_shape_of_origin(origin: str) -> RestDialect:
    """Return the shape in which to speak about a task there: as it was begun over HTTP+JSON."""
    return _ROUTE_SHAPES.get(origin, MIXED_DIALECT)


_PROTO: Final = {False: V0_3_PROTO_DIALECT, True: V0_3Proto(is_strict=True)}
_REST: Final = {False: V0_3_REST_DIALECT, True: V0_3(V0_3_REST_DIALECT.name, is_strict=True)}


def proto_shape(*, is_strict: bool) -> V0_3Proto:
    """Return what reads ProtoJSON on the routes of 0.3."""
    return _PROTO[is_strict]


def rest_shape(
    body: bytes, plain: RestDialect | None = None, *, is_strict: bool = False
) -> RestDialect:
    """Return the shape in which a message is sent to a route of 0.3 (section 6.2).

    Args:
        plain: what reads the JSON of the schema, if a profile does.
    """
    return _PROTO[is_strict] if is_proto_json(body) else plain or _REST[is_strict]


_ROUTE_SHAPES: Final[Mapping[str, RestDialect]] = {
    shape.name: shape for shape in (V0_3_REST_DIALECT, V0_3_REST_TYPE_DIALECT)
}
_SHAPES: Final[Mapping[str, RestDialect]] = {
    shape.name: shape
    for shape in (
        *_ROUTE_SHAPES.values(),
        V0_3_PROTO_RAW_DIALECT,
        *(shape for profile in PROFILES for shape in profile.origins),
    )
}


def shape_of_origin(origin: str) -> RestDialect:
    """Return the shape in which to speak about a task on the routes of 0.3 (section 6.2)."""
    return _SHAPES.get(origin, V0_3_PROTO_DIALECT)


# --- webhooks -----------------------------------------------------------------------------------


_TOLD: Final = _by_name(
    *(release.rpc for release in RELEASES),
    V0_3_TYPE_DIALECT,
    V0_3_REST_TYPE_DIALECT,
    _V0_1_KIND_DIALECT,
    *(dialect for profile in PROFILES for dialect in profile.told),
)


def webhook_dialect(origin: str) -> RpcDialect:
    """Return the form to tell a webhook in that was registered in ``origin`` (R-3.5.1-3).

    Whatever binding it came by: the forms of 0.3 are many and tell alike (0.x reference, 5.11).
    """
    return _TOLD.get(origin, V0_3_DIALECT)


# --- calling ------------------------------------------------------------------------------------

_CALLED_RPC: Final[Mapping[str, RpcDialect]] = {
    **_by_name(*(release.rpc for release in RELEASES)),
    **{profile.name: profile.called.dialect for profile in PROFILES},
}

_CALLED_REST: Final[Mapping[str, tuple[RestDialect, Routes]]] = {
    **{release.rest.name: (release.rest, release.routes) for release in RELEASES if release.rest},
    V0_3_DIALECT.name: (V0_3_REST_DIALECT, ROUTES_0_3),
}


def called_form(binding: Binding, version: Version) -> str | None:
    """Return the form in which to call an interface, None if its version is not known there."""
    release = _RELEASES.get(version)
    if release is None or binding not in release.bindings:
        return None
    if binding == "HTTP+JSON":
        return None if release.rest is None else release.rest.name
    return release.rpc.name


def older_versions(binding: Binding, version: Version) -> tuple[Version, ...]:
    """Return the versions that an agent may speak which does not understand this one.

    0.x reference, 6.4: SendMessage, then message/send, then tasks/send.
    """
    forms = {called_form(binding, version): version}
    for older in _SERVED:
        if older < version and (form := called_form(binding, older)):
            forms.setdefault(form, older)
    release = _RELEASES.get(version)
    return (*tuple(forms.values())[1:], *(release.resembles if release else ()))


def other_shape(form: str) -> str | None:
    """Return the form that some peers have where most have this one."""
    return V0_3_DIALECT.name if form == V0_3_PROTO_DIALECT.name else None


def called_rpc(form: str) -> RpcDialect:
    """Return the dialect of a form on JSON-RPC."""
    return _CALLED_RPC[form]


def called_rest(form: str, likely: FileBytes | None) -> RestDialect:
    """Return the dialect of a form on HTTP+JSON for one agent, with the habit likely its own."""
    dialect = _CALLED_REST[form][0]
    return CalledV0_3Proto(likely) if dialect is V0_3_PROTO_DIALECT else dialect


def called_routes(form: str) -> Routes:
    """Return the routes on which a form is called."""
    return _CALLED_REST[form][1]
