"""An agent behind a guard, and how to ask it for anything in every version over every binding.

Who attacks it is in ``guard/attacks.py``. Nothing here shares code or tables with the server but
the ports an author implements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import httpx2

from dragoman import AccessRequest, Agent, Context, Evidence, Principal
from dragoman.auth.incoming.combining import Alternative
from dragoman.errors import UnauthenticatedError
from dragoman.model.security import APIKeySecurityScheme, SecurityScheme
from dragoman.server.admission.authorization import Policy
from tests.scenarios.bindings import OPERATIONS, Binding, Grpc, HttpJson, JsonRpc
from tests.scenarios.grpc_binding import V0_3_SERVICE, StatusError
from tests.scenarios.old_forms import GRAMMAR_PROTO, Saying
from tests.scenarios.old_wire import (
    ERRORS_0_3,
    V0_1,
    V0_3,
    OldRpc,
    Speaker,
    V0_3Http,
    V0_3Schema,
)
from tests.support.wire import Json, message

__all__ = (
    "KEY_HEADER",
    "LINES",
    "PEOPLE",
    "PUSH",
    "SENDS",
    "TASK_OPERATIONS",
    "Ask",
    "Heard",
    "Keys",
    "Line",
    "Verdict",
    "call_of",
    "guarded_agent",
    "hear",
    "keyed",
    "policy",
)

KEY_HEADER: Final = "X-API-Key"

PEOPLE: Final = {
    "key-of-ada": Principal(owner="ada", scopes=frozenset({"vault:open", "cellar"})),
    "key-of-bob": Principal(owner="bob"),
    "key-of-carol": Principal(owner="carol"),
    "key-of-dan": Principal(owner="dan", tenants=frozenset({"acme"})),
}
"""Who has which key."""


class Keys:
    """The simplest authenticator: a key in a header."""

    name = "key"
    challenge = 'ApiKey realm="guarded"'
    scheme = SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name=KEY_HEADER)
    )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Look the key up."""
        key = evidence.headers.get(KEY_HEADER.lower().encode())
        if key is None:
            return None
        if key not in PEOPLE:
            raise UnauthenticatedError("The key is not known")
        return PEOPLE[key]


async def policy(request: AccessRequest) -> bool:
    """Let Carol send to one skill, and do nothing else; let all others do everything."""
    if request.principal.owner != "carol":
        return True
    return request.skill_id == "ask" and request.operation.value.startswith("Send")


def guarded_agent(
    auth: Sequence[Alternative] | None = None,
    ran: list[str] | None = None,
    authorize: Policy = policy,
) -> Agent:
    """Return an agent that asks who calls, and what they may do.

    Args:
        ran: gets the name of a skill that waits, or that needs a scope, whenever it is begun.
    """
    begun = [] if ran is None else ran
    agent = Agent(
        "Guarded",
        "Is particular about its callers.",
        tenants=["acme", "umbrella"],
        auth=auth or [Keys()],
        authorize=authorize,
        extended_card=True,
    )

    @agent.skill
    async def ask(ctx: Context, text: str) -> str:
        """Ask a question."""
        begun.append("ask")
        return f"{text}: {await ctx.ask('Which city?')}"

    @agent.skill
    async def whoami(ctx: Context, text: str) -> dict[str, object]:
        """Tell what a skill knows of its caller."""
        return {
            "text": text,
            "user": ctx.user,
            "scopes": sorted(ctx.scopes),
            "owner": ctx.principal.owner,
        }

    @agent.skill(scopes=["vault:open"])
    async def vault(combination: int) -> str:
        """Open the vault."""
        begun.append("vault")
        return f"opened with {combination}"

    @agent.skill(scopes=["cellar"], hidden=True)
    async def cellar(bottles: int, year: int) -> str:
        """Fetch something nobody should know of."""
        return f"{bottles} of {year}"

    @agent.skill
    async def sign_in(ctx: Context, text: str) -> str:
        """Ask for an authorization."""
        answer = await ctx.require_auth("Sign in, please.", details={"url": "https://id.example/"})
        return f"{text} for {ctx.user}: {answer.parts[0].text}"

    return agent


# --- what is asked, in the words of each version ------------------------------------------------

SENDS: Final = ("SendMessage", "SendStreamingMessage")
TASK_OPERATIONS: Final = (*SENDS, "GetTask", "CancelTask", "SubscribeToTask")
PUSH: Final = tuple(operation for operation in OPERATIONS if "Push" in operation)

_TELLING: Final = (*SENDS, *PUSH)
"""Operations whose methods no other version has."""

_HOOK: Final = "https://client.example/hook"


class Ask(NamedTuple):
    """What somebody asks for."""

    operation: str
    task_id: str = ""
    skill: str = "ask"
    tenant: str = ""


class Heard(NamedTuple):
    """What was answered: ``code`` is None for a success."""

    http: int
    code: int | None
    body: str
    challenges: list[str]

    def about(self, task_id: str = "") -> Json:
        """Return what was said, without the number of the request and the name of a task."""
        said = _last_json(self.body.replace(task_id, "…") if task_id else self.body)
        said.pop("id", None)
        return said


class OldGrpc(Grpc):
    """gRPC of 0.3."""

    service = V0_3_SERVICE


class Line(NamedTuple):
    """One version over one binding, and the numbers it has for errors."""

    version: str
    binding: str
    kind: type[Binding]
    codes: Mapping[Verdict, int]
    operations: tuple[str, ...] = OPERATIONS
    shape: str = ""

    @property
    def title(self) -> str:
        """Call it as readers of the documentation know it."""
        return f"{self.version} {self.binding}" + (f" ({self.shape})" if self.shape else "")

    @property
    def name(self) -> str:
        """Tell lines apart."""
        return f"{self.version} {self.kind.__name__}"

    def code(self, verdict: Verdict, operation: str) -> int:
        """Return the number of a verdict.

        0.1 has one of its own for what is denied. It is heard where the method tells the version:
        not at the door, and not for a task that was begun in another version.
        """
        if self.version == "0.1" and verdict is Verdict.DENIED and operation in _TELLING:
            return -32008
        return self.codes[verdict]

    def status(self, verdict: Verdict) -> int:
        """Return the status of HTTP that a verdict has; gRPC has one for everything."""
        if self.binding == "HTTP+JSON":
            return _HTTP[verdict] if self.version == "1.0" else ERRORS_0_3[_RPC[verdict]][1]
        at_the_door = {Verdict.UNAUTHENTICATED: 401, Verdict.DENIED: 403}
        return 200 if self.binding == "gRPC" else at_the_door.get(verdict, 200)

    def connect(self, url: str) -> Binding:
        """Return a client; those of the old versions do not state one."""
        return self.kind(url, {"A2A-Version": "1.0"} if self.version == "1.0" else {})


def keyed(key: str) -> dict[str, str]:
    """Return the header with a key; "" shows none."""
    return {KEY_HEADER: key} if key else {}


async def hear(wire: Binding, name: str, params: Json, headers: Mapping[str, str]) -> Heard:
    """Ask, showing what is in some headers, and listen to the end."""
    if isinstance(wire, OldGrpc) and name == "TaskSubscription":
        # What goes by another name in 1.0 is a stream all the same.
        response = await _hear_stream(wire, name, params, headers)
    else:
        response = await wire.respond(name, params, headers=headers)
    body = _last_json(response.text)
    error: Any = body.get("error")
    code: int | None = None
    if error is not None:
        # 0.3 over HTTP has it beside the name of the error.
        code = body["code"] if isinstance(error, str) else error["code"]
    challenges = response.headers.get_list("www-authenticate")
    return Heard(response.status_code, code, response.text, challenges)


async def _hear_stream(
    wire: Grpc, name: str, params: Json, headers: Mapping[str, str]
) -> httpx2.Response:
    try:
        metadata = [(header.lower(), value) for header, value in headers.items()]
        async with wire.rpcs.stream(name, params, metadata) as stream:
            frames = [json.dumps(value) async for value in stream]
    except StatusError as error:
        return httpx2.Response(200, json={"error": error.status})
    return httpx2.Response(200, text="\n".join(frames))


def _last_json(text: str) -> Json:
    """Read a body, or the last event of a stream."""
    lines = [line.removeprefix("data: ") for line in text.splitlines()]
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


def call_of(wire: Binding, ask: Ask) -> tuple[str, Json]:
    """Return how an operation is called: its name or route, and its params."""
    if isinstance(wire, OldGrpc):
        return _old_rpc_of_grpc(ask)
    if isinstance(wire, V0_3Http):
        return _old_route(wire, ask)
    if isinstance(wire, OldRpc):
        if ask.operation in SENDS:
            return ask.operation, wire.write_send(_saying(ask))
        config = {"pushNotificationConfig": {"url": _HOOK}, "pushNotificationConfigId": "p-1"}
        named = {"id": ask.task_id, "taskId": ask.task_id}
        return ask.operation, {**named, **(config if ask.operation in PUSH else {})}
    return ask.operation, _params_1_0(ask)


def _saying(ask: Ask) -> Saying:
    return Saying(ask.skill, ("hello",), task_id=ask.task_id)


def _params_1_0(ask: Ask) -> Json:
    params: Json = {"tenant": ask.tenant} if ask.tenant else {}
    if ask.operation in SENDS:
        said = message(metadata={"skillId": ask.skill}, **_if_any(taskId=ask.task_id))
        return {**params, "message": said}
    if ask.operation in TASK_OPERATIONS:
        return {**params, "id": ask.task_id}
    if ask.operation not in PUSH:
        return params
    params["taskId"] = ask.task_id
    if not ask.operation.startswith("List"):
        params["id"] = "p-1"
    return {**params, "url": _HOOK} if ask.operation.startswith("Create") else params


def _old_route(wire: Speaker, ask: Ask) -> tuple[str, Json]:
    if ask.operation in SENDS:
        return ask.operation, wire.write_send(_saying(ask))
    configs = f"/v1/tasks/{ask.task_id}/pushNotificationConfigs"
    routes = {
        "CreateTaskPushNotificationConfig": f"POST {configs}",
        "ListTaskPushNotificationConfigs": f"GET {configs}",
        "GetTaskPushNotificationConfig": f"GET {configs}/p-1",
        "DeleteTaskPushNotificationConfig": f"DELETE {configs}/p-1",
    }
    named: Json = {"id": ask.task_id} if ask.operation in TASK_OPERATIONS else {}
    if ask.operation.startswith("CreateTaskPush"):
        named = {"configId": "p-1", "config": {"pushNotificationConfig": {"url": _HOOK}}}
    return routes.get(ask.operation, ask.operation), named


def _old_rpc_of_grpc(ask: Ask) -> tuple[str, Json]:
    name = f"tasks/{ask.task_id}"
    config = f"{name}/pushNotificationConfigs/p-1"
    said = GRAMMAR_PROTO.write_message(
        _saying(ask), messageId=message()["messageId"], **_if_any(taskId=ask.task_id)
    )
    calls: dict[str, tuple[str, Json]] = {
        "SendMessage": ("SendMessage", {"message": said}),
        "SendStreamingMessage": ("SendStreamingMessage", {"message": said}),
        "GetTask": ("GetTask", {"name": name}),
        "ListTasks": ("ListTasks", {}),
        "CancelTask": ("CancelTask", {"name": name}),
        "SubscribeToTask": ("TaskSubscription", {"name": name}),
        "CreateTaskPushNotificationConfig": (
            "CreateTaskPushNotificationConfig",
            {
                "parent": name,
                "configId": "p-1",
                "config": {"pushNotificationConfig": {"url": _HOOK}},
            },
        ),
        "GetTaskPushNotificationConfig": ("GetTaskPushNotificationConfig", {"name": config}),
        "ListTaskPushNotificationConfigs": ("ListTaskPushNotificationConfig", {"parent": name}),
        "DeleteTaskPushNotificationConfig": ("DeleteTaskPushNotificationConfig", {"name": config}),
        "GetExtendedAgentCard": ("GetAgentCard", {}),
    }
    return calls[ask.operation]


def _if_any(**members: str) -> dict[str, str]:
    return {name: value for name, value in members.items() if value}


# --- what is heard, and in which words ---------------------------------------------------------


class Verdict(Enum):
    """What a caller hears."""

    UNAUTHENTICATED = "unauthenticated"
    DENIED = "permission denied"
    NOT_FOUND = "as a task that does not exist"
    UNKNOWN_TENANT = "as a tenant that does not exist"
    ITS_OWN = "served with what is its own"


_RPC: Final = {
    Verdict.UNAUTHENTICATED: -31401,
    Verdict.DENIED: -31403,
    Verdict.NOT_FOUND: -32001,
    Verdict.UNKNOWN_TENANT: -32602,
}
_HTTP: Final = {
    Verdict.UNAUTHENTICATED: 401,
    Verdict.DENIED: 403,
    Verdict.NOT_FOUND: 404,
    Verdict.UNKNOWN_TENANT: 400,
}
_GRPC: Final = {
    Verdict.UNAUTHENTICATED: 16,
    Verdict.DENIED: 7,
    Verdict.NOT_FOUND: 5,
    Verdict.UNKNOWN_TENANT: 3,
}

LINES: Final = (
    Line("1.0", "JSON-RPC", JsonRpc, _RPC),
    Line("1.0", "HTTP+JSON", HttpJson, _HTTP),
    Line("1.0", "gRPC", Grpc, _GRPC),
    Line("0.3", "JSON-RPC", V0_3, _RPC),
    Line("0.3", "HTTP+JSON", V0_3Http, _RPC, shape="ProtoJSON"),
    Line("0.3", "HTTP+JSON", V0_3Schema, _RPC, shape="JSON schema"),
    Line("0.3", "gRPC", OldGrpc, _GRPC),
    Line("0.1", "JSON-RPC", V0_1, _RPC, tuple(V0_1.methods)),
)
