"""What really goes over the wire, on each of the three bindings, for every operation there is."""

import json
from collections.abc import Generator
from itertools import permutations
from typing import Any

import pytest

from tests.cli.calling import Cli, Result
from tests.cli.fake import Asked, FakeAgent, Frames, Refusal, asking_for, card, task
from tests.cli.fake_grpc import FakeGrpcAgent, GrpcRefusal, fake_grpc_agent
from tests.cli.test_card import published
from tests.cli.test_out import NAMES
from tests.cli.test_tx import interface, used

CONFIG = {"id": "p-1", "taskId": "t-1", "url": "https://me.example/hook"}
PUSH = ("task", "push-config")
PLACE = "/tasks/t-1/pushNotificationConfigs"
WHOLE = {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}

# How each operation is asked for, where HTTP+JSON has it, and what it is answered with.
OPERATIONS: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "SendMessage": (("send", "x", "--async"), "POST /message:send", {"task": task()}),
    "SendStreamingMessage": (("send", "x"), "POST /message:stream", {"task": task()}),
    "GetTask": (("task", "get", "t-1"), "GET /tasks/t-1", task()),
    "ListTasks": (
        ("task", "list"),
        "GET /tasks",
        {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0},
    ),
    "CancelTask": (("task", "cancel", "t-1"), "POST /tasks/t-1:cancel", task("CANCELED")),
    "SubscribeToTask": (
        ("task", "subscribe", "t-1"),
        "POST /tasks/t-1:subscribe",
        {"task": task()},
    ),
    "CreateTaskPushNotificationConfig": (
        (*PUSH, "create", "t-1", "--url", CONFIG["url"]),
        f"POST {PLACE}",
        CONFIG,
    ),
    "GetTaskPushNotificationConfig": ((*PUSH, "get", "t-1", "p-1"), f"GET {PLACE}/p-1", CONFIG),
    "ListTaskPushNotificationConfigs": ((*PUSH, "list", "t-1"), f"GET {PLACE}", {}),
    "DeleteTaskPushNotificationConfig": (
        (*PUSH, "delete", "t-1", "p-1"),
        f"DELETE {PLACE}/p-1",
        {},
    ),
    "GetExtendedAgentCard": (("card", "get", "--extended"), "GET /extendedAgentCard", None),
}
# What gRPC calls the errors; all others are FAILED_PRECONDITION.
STATUSES = {
    "TaskNotFoundError": 5,
    "ContentTypeNotSupportedError": 3,
    "InvalidAgentResponseError": 13,
}
STATUS_NAMES = {3: "INVALID_ARGUMENT", 5: "NOT_FOUND", 9: "FAILED_PRECONDITION", 13: "INTERNAL"}
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
STREAMS = ("SendStreamingMessage", "SubscribeToTask")


class Wire:
    """One agent that has one binding, and what it was asked over that."""

    def __init__(self, alone: Cli, fake: FakeAgent, grpc: FakeGrpcAgent, binding: str) -> None:
        # A card of the user's own speaks for all the places it names.
        self._cli = alone.to("./card.json")
        self._place = alone.folder / "card.json"
        self._fake = fake
        self._grpc = grpc
        self.binding = binding
        self.members: dict[str, Any] = {"capabilities": WHOLE}
        self.tenant = ""

    def __call__(self, operation: str, *flags: str, refused: str = "") -> Result:
        """Ask for an operation, which is answered or refused."""
        url = {
            "JSONRPC": f"{self._fake.url}/",
            "HTTP+JSON": self._fake.url,
            "GRPC": self._grpc.address,
        }[self.binding]
        tenant = {"tenant": self.tenant} if self.tenant else {}
        listed = [interface(url, self.binding, **tenant)]
        found = card(self._fake.url, supportedInterfaces=listed, **self.members)
        self._place.write_text(json.dumps(found))
        arguments, route, result = OPERATIONS[operation]
        answer: Any = found if result is None else result
        self._grpc.answers[operation] = answer
        if refused:
            code, status, reason = NAMES[refused]
            self._grpc.answers[operation] = GrpcRefusal(STATUSES.get(refused, 9), reason)
            status = status if self.binding == "HTTP+JSON" else 200
            answer = Refusal(code, "No.", status, reason)
        elif operation in STREAMS:
            answer = Frames([answer])
        verb, path = route.split(" ", 1)
        prefix = f"/{self.tenant}" if self.tenant else ""
        self._fake.answers = {
            operation: lambda _: answer,
            f"{verb} {prefix}{path}": lambda _: answer,
        }
        return self._cli(*arguments, *flags)

    def asked(self) -> Asked:
        """The last thing that the agent was asked."""
        return [*self._fake.asked, *self._grpc.asked][-1]


@pytest.fixture
def grpc_agent() -> Generator[FakeGrpcAgent]:
    """An agent over gRPC that does as it is told."""
    with fake_grpc_agent() as agent:
        yield agent


@pytest.fixture
def wire(alone: Cli, fake: FakeAgent, grpc_agent: FakeGrpcAgent, binding: str) -> Wire:
    """Such an agent, over each binding in turn."""
    return Wire(alone, fake, grpc_agent, binding)


# --- OUT_004: nine errors over three bindings -----------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_out_004_nine_errors_have_their_names_on_three_bindings(wire: Wire, name: str) -> None:
    result = wire("GetTask", "-o", "json", refused=name)
    assert result.code == 1
    assert result.error["code"] == name
    assert result.error["message"]
    assert result.error["hint"]
    code, status, _ = NAMES[name]
    grpc_status = STATUS_NAMES[STATUSES.get(name, 9)]
    expected = {"JSONRPC": code, "HTTP+JSON": status, "GRPC": grpc_status}
    assert result.error["a2aCode"] == expected[wire.binding]
    text = wire("GetTask", refused=name)
    assert (text.code, text.out) == (1, "")
    assert f"Code: {name}\n" in text.err


@pytest.mark.parametrize("operation", OPERATIONS)
def test_out_004_every_operation_tells_a_refusal(wire: Wire, operation: str) -> None:
    result = wire(operation, "-o", "json", refused="ExtensionSupportRequiredError")
    assert result.code == 1
    assert result.error["code"] == "ExtensionSupportRequiredError"


# --- TX_003, VER_001: what every request says -----------------------------------------------------


def tenant_in(asked: Asked, binding: str) -> str | None:
    """The tenant of a request: HTTP+JSON has it as the first part of the path."""
    if binding != "HTTP+JSON":
        return asked.params.get("tenant")
    first = asked.method.split(" ", 1)[1].split("/")[1]
    return None if first.startswith(("message:", "tasks", "extendedAgentCard")) else first


@pytest.mark.parametrize("operation", OPERATIONS)
def test_tx_003_every_operation_tells_the_tenant_back(wire: Wire, operation: str) -> None:
    assert wire(operation).code == 0
    assert tenant_in(wire.asked(), wire.binding) is None
    wire.tenant = "ACME.eu-1"
    assert wire(operation).code == 0
    assert tenant_in(wire.asked(), wire.binding) == "ACME.eu-1"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_ver_001_every_operation_says_its_version(wire: Wire, operation: str) -> None:
    assert wire(operation).code == 0
    assert wire.asked().headers["a2a-version"] == "1.0"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_ver_002_every_operation_declares_required_extensions(wire: Wire, operation: str) -> None:
    uri = "https://extensions.example/needed"
    wire.members["capabilities"] = {**WHOLE, "extensions": [{"uri": uri, "required": True}]}
    assert wire(operation, "--extension", uri).code == 0
    assert wire.asked().headers["a2a-extensions"] == uri


# --- INTERACT: ids --------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
def test_interact_003_a_first_turn_has_no_id_but_that_of_the_message(
    wire: Wire, operation: str
) -> None:
    assert wire(operation).code == 0
    message = wire.asked().params["message"]
    assert message.keys() == {"messageId", "role", "parts"}
    assert message["messageId"]


@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
def test_interact_001_ids_are_sent_as_they_were_given(wire: Wire, operation: str) -> None:
    assert wire(operation, "--context-id", "c-1").code == 0
    message = wire.asked().params["message"]
    assert message["contextId"] == "c-1"
    assert "taskId" not in message


# --- AUTH: credentials over every binding ---------------------------------------------------------

BEARER = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
KEY = {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_auth_001_every_operation_shows_the_token(wire: Wire, operation: str) -> None:
    wire.members |= asking_for(BEARER)
    assert wire(operation, "--bearer", "the-token").code == 0
    assert wire.asked().headers["authorization"] == "Bearer the-token"


def test_auth_001_a_key_and_parameters_travel_over_every_binding(wire: Wire) -> None:
    wire.members |= asking_for(KEY)
    flags = ("--api-key", "the-key", "--svc-param", "X-Trace: 7")
    assert wire("GetTask", *flags).code == 0
    headers = wire.asked().headers
    assert (headers["x-key"], headers["x-trace"]) == ("the-key", "7")
    assert "authorization" not in headers


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("refused", ["", "InvalidAgentResponseError"])
def test_auth_004_no_output_of_any_operation_has_a_credential(
    wire: Wire, operation: str, form: str, refused: str
) -> None:
    wire.members |= asking_for(BEARER)
    canary = "canary-2b8e"
    flags = ("--bearer", canary, "--svc-param", f"X-Secret: {canary}-param")
    result = wire(operation, *flags, "-o", form, "--debug", "--verbose", refused=refused)
    assert result.code == (1 if refused else 0)
    # It was sent, and debugging has told that something was.
    assert wire.asked().headers["authorization"] == f"Bearer {canary}"
    assert result.err
    assert canary not in result.out + result.err


# --- TX_001, TX_002: which interface --------------------------------------------------------------


@pytest.mark.parametrize("order", [*permutations(BINDINGS)])
def test_tx_001_every_order_of_a_card_counts(
    alone: Cli, stage: str, order: tuple[str, ...]
) -> None:
    found = published(stage)
    listed = {
        each["protocolBinding"]: each
        for each in found["supportedInterfaces"]
        if each["protocolVersion"] == "1.0"
    }
    found["supportedInterfaces"] = [listed[binding] for binding in order]
    (alone.folder / "card.json").write_text(json.dumps(found))
    result = alone("send", "hello", "-a", "./card.json", "--debug")
    assert result.code == 0
    assert f"* interface {order[0]} 1.0 " in result.err


@pytest.mark.parametrize(
    "wishes", [wishes for size in (1, 2, 3) for wishes in permutations(BINDINGS, size)]
)
def test_tx_002_every_order_of_preferences_counts(cli: Cli, wishes: tuple[str, ...]) -> None:
    flags = [word for wish in wishes for word in ("--transport", wish)]
    assert used(cli, *flags) == wishes[0]
