import pytest

from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    StreamingNotSupportedError,
    UnknownTenantError,
    UnsupportedOperationError,
)
from dragoman.model.cards import AgentCapabilities, AgentExtension
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.server.admission.content import RequestValidator
from dragoman.server.settings import ContentLimits
from dragoman.service.principal import Principal
from dragoman.service.service import Call

TRACE = "https://example.com/trace/v1"
TRACE_2 = "https://example.com/trace/v2"
BILLING = "https://example.com/billing/v1"

PUSH_CONFIG = TaskPushNotificationConfig(task_id="t-1", url="https://example.com/hook")


def validator(
    *,
    extensions: tuple[AgentExtension, ...] = (),
    streaming: bool = True,
    push_notifications: bool = False,
    extended_agent_card: bool = False,
    input_modes: tuple[str, ...] = ("text/plain", "application/json"),
    tenants: tuple[str, ...] = (),
) -> RequestValidator:
    return RequestValidator(
        tenants=tenants,
        capabilities=AgentCapabilities(
            streaming=streaming,
            push_notifications=push_notifications,
            extensions=extensions,
            extended_agent_card=extended_agent_card,
        ),
        input_modes=input_modes,
        limits=ContentLimits(max_parts=3, max_id_length=8),
    )


def send(*parts: Part, message_id: str = "m-1", context_id: str = "", task_id: str = "") -> Request:
    return SendMessageRequest(
        message=Message(
            message_id=message_id,
            context_id=context_id,
            task_id=task_id,
            role=Role.USER,
            parts=parts or (Part(text="hello"),),
        )
    )


REQUESTS: dict[Operation, Request] = {
    Operation.SEND_MESSAGE: send(),
    Operation.SEND_STREAMING_MESSAGE: send(),
    Operation.GET_TASK: GetTaskRequest(id="t-1"),
    Operation.LIST_TASKS: ListTasksRequest(),
    Operation.CANCEL_TASK: CancelTaskRequest(id="t-1"),
    Operation.SUBSCRIBE_TO_TASK: SubscribeToTaskRequest(id="t-1"),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: PUSH_CONFIG,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: GetTaskPushNotificationConfigRequest(
        task_id="t-1", id="p-1"
    ),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: ListTaskPushNotificationConfigsRequest(
        task_id="t-1"
    ),
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: DeleteTaskPushNotificationConfigRequest(
        task_id="t-1", id="p-1"
    ),
    Operation.GET_EXTENDED_AGENT_CARD: GetExtendedAgentCardRequest(),
}

PUSH = [operation for operation in Operation if "PUSH" in operation.name]
STREAMING = [Operation.SEND_STREAMING_MESSAGE, Operation.SUBSCRIBE_TO_TASK]


# --- extensions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "activated"),
    [
        # R-T.ext-9: none unless asked for.
        (None, ()),
        ("", ()),
        # What was asked for, in the order it was asked for, once.
        (TRACE, (TRACE,)),
        (f"{BILLING}, {TRACE}", (BILLING, TRACE)),
        (f"{TRACE},{TRACE}", (TRACE,)),
        # R-4.6.3-3: what we lack is ignored. R-4.6.3-5: another version is another extension.
        (f"{TRACE_2},{BILLING}", (BILLING,)),
        (TRACE.upper(), ()),
        (" , ,", ()),
    ],
)
@pytest.mark.requirement("R-T.ext-9", "R-4.6.3-5")
def test_the_extensions_a_request_names_are_activated(
    requested: str | None, activated: tuple[str, ...]
) -> None:
    offered = validator(extensions=(AgentExtension(uri=TRACE), AgentExtension(uri=BILLING)))
    assert offered.activate(Operation.SEND_MESSAGE, requested) == activated


@pytest.mark.requirement("R-3.3.4-6", "R-4.6.3-4")
@pytest.mark.parametrize("requested", [None, "", TRACE_2])
def test_an_extension_that_is_required_must_be_named(requested: str | None) -> None:
    demanding = validator(extensions=(AgentExtension(uri=TRACE, required=True),))
    with pytest.raises(ExtensionSupportRequiredError) as caught:
        demanding.activate(Operation.SEND_MESSAGE, requested)
    assert TRACE in caught.value.message
    assert caught.value.metadata == {"requiredExtensions": TRACE}


def test_all_missing_extensions_are_told() -> None:
    demanding = validator(
        extensions=(
            AgentExtension(uri=TRACE, required=True),
            AgentExtension(uri=BILLING, required=True),
        )
    )
    with pytest.raises(ExtensionSupportRequiredError) as caught:
        demanding.activate(Operation.SEND_MESSAGE, None)
    assert caught.value.metadata == {"requiredExtensions": f"{TRACE},{BILLING}"}


def test_a_required_extension_that_is_named_is_activated() -> None:
    demanding = validator(extensions=(AgentExtension(uri=TRACE, required=True),))
    assert demanding.activate(Operation.SEND_MESSAGE, TRACE) == (TRACE,)


# --- capabilities -----------------------------------------------------------------------------


def refusal(at: RequestValidator, operation: Operation) -> type[A2AError] | None:
    try:
        at.check_offered(operation)
        at.admit(REQUESTS[operation], Call())
    except A2AError as error:
        return type(error)
    return None


@pytest.mark.parametrize("operation", Operation)
def test_what_the_card_declares_is_admitted(operation: Operation) -> None:
    everything = validator(push_notifications=True, extended_agent_card=True)
    assert refusal(everything, operation) is None


@pytest.mark.requirement("R-3.1.2-1", "R-3.3.4-1")
@pytest.mark.parametrize("operation", STREAMING)
def test_without_streaming_nothing_streams(operation: Operation) -> None:
    assert refusal(validator(streaming=False), operation) is StreamingNotSupportedError


@pytest.mark.requirement("R-3.1.7-1", "R-3.3.4-1")
@pytest.mark.parametrize("operation", PUSH)
def test_without_push_no_webhook_is_spoken_of(operation: Operation) -> None:
    assert refusal(validator(), operation) is PushNotificationNotSupportedError


@pytest.mark.requirement("R-3.1.11-1", "R-3.3.4-1")
def test_without_an_extended_card_none_is_shown() -> None:
    assert refusal(validator(), Operation.GET_EXTENDED_AGENT_CARD) is UnsupportedOperationError


@pytest.mark.parametrize(
    "operation",
    [op for op in Operation if op not in {*STREAMING, *PUSH, Operation.GET_EXTENDED_AGENT_CARD}],
)
def test_what_is_not_optional_is_always_admitted(operation: Operation) -> None:
    assert refusal(validator(streaming=False), operation) is None


@pytest.mark.parametrize(
    ("has_push", "expected"),
    [
        # a webhook that comes with a send is refused too.
        (False, PushNotificationNotSupportedError),
        (True, None),
    ],
)
def test_a_webhook_in_a_send_needs_the_capability(
    has_push: bool,  # noqa: FBT001 - a column of a table
    expected: type[A2AError] | None,
) -> None:
    request = SendMessageRequest(
        message=Message(message_id="m-1", role=Role.USER, parts=(Part(text="x"),)),
        configuration=SendMessageConfiguration(task_push_notification_config=PUSH_CONFIG),
    )
    at = validator(push_notifications=has_push)
    if expected is None:
        at.admit(request, Call())
    else:
        with pytest.raises(expected):
            at.admit(request, Call())


def test_a_configuration_without_a_webhook_is_admitted() -> None:
    request = SendMessageRequest(
        message=Message(message_id="m-1", role=Role.USER, parts=(Part(text="x"),)),
        configuration=SendMessageConfiguration(return_immediately=True),
    )
    validator().admit(request, Call())


# --- tenants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tenant", ["", "acme"])
def test_declared_tenants_are_served(tenant: str) -> None:
    validator(tenants=("acme",)).admit(send(), Call(tenant=tenant))


@pytest.mark.parametrize("operation", Operation)
def test_another_tenant_is_refused_whatever_it_asks(operation: Operation) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        validator(tenants=("acme",)).admit(REQUESTS[operation], Call(tenant="ACME"))
    assert caught.value.violations[0].field == "tenant"


# --- content ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        # What is not said is inferred.
        Part(text="x"),
        Part(data={"k": 1}),
        # Parameters and case do not matter.
        Part(text="x", media_type="Text/PLAIN; charset=utf-8"),
        # A wildcard of the agent's.
        Part(raw=b"x", media_type="image/png"),
        # What nobody can tell is left to the agent.
        Part(raw=b"x"),
        Part(url="https://example.com/x"),
    ],
)
def test_a_part_the_agent_takes_is_admitted(part: Part) -> None:
    at = validator(input_modes=("text/plain", "application/json", "image/*"))
    at.admit(send(part), Call())


@pytest.mark.requirement("R-3.1.1-1")
def test_a_part_the_agent_does_not_take_is_refused() -> None:
    request = send(Part(text="x"), Part(raw=b"x", media_type="image/png"))
    with pytest.raises(ContentTypeNotSupportedError) as caught:
        validator().admit(request, Call())
    assert caught.value.message == (
        "message.parts[1] is image/png; this agent takes text/plain, application/json"
    )
    assert caught.value.metadata == {"mediaType": "image/png"}


def test_of_a_long_media_type_the_beginning_is_told() -> None:
    with pytest.raises(ContentTypeNotSupportedError) as caught:
        validator().admit(send(Part(text="x", media_type="x" * 5000)), Call())
    assert caught.value.metadata == {"mediaType": "x" * 100}


def test_a_mode_that_is_declared_twice_is_told_once() -> None:
    with pytest.raises(ContentTypeNotSupportedError, match=r"takes text/plain$"):
        validator(input_modes=("text/plain", "text/plain")).admit(send(Part(data=1)), Call())


def test_many_media_types_are_judged_alike_whether_remembered_or_not() -> None:
    at = validator(input_modes=("text/*",))
    for number in range(1100):
        part = Part(text="x", media_type=f"text/x-{number}")
        at.admit(send(part), Call())
        at.admit(send(part), Call())
    with pytest.raises(ContentTypeNotSupportedError):
        at.admit(send(Part(text="x", media_type="image/png")), Call())


# --- sizes ------------------------------------------------------------------------------------


def test_ids_and_parts_up_to_the_limit_are_admitted() -> None:
    request = send(*[Part(text="x")] * 3, message_id="m" * 8, context_id="c" * 8, task_id="t" * 8)
    validator().admit(request, Call())


@pytest.mark.parametrize(
    "request_",
    [
        send(message_id="m" * 9),
        send(context_id="c" * 9),
        send(task_id="t" * 9),
    ],
)
def test_a_longer_id_is_refused(request_: Request) -> None:
    with pytest.raises(InvalidParamsError, match="an id of more than 8 characters"):
        validator().admit(request_, Call())


def test_more_parts_are_refused() -> None:
    with pytest.raises(InvalidParamsError, match="not hold more than 3 parts"):
        validator().admit(send(*[Part(text="x")] * 4), Call())


@pytest.mark.parametrize("requested", [None, "https://x.example/other/v1"])
def test_a_card_can_be_read_without_what_it_requires(requested: str | None) -> None:
    required = AgentExtension(uri="https://x.example/needed/v1", required=True)
    validator = RequestValidator(
        tenants=(),
        capabilities=AgentCapabilities(extensions=(required,)),
        input_modes=("text/plain",),
        limits=ContentLimits(max_parts=10, max_id_length=10),
    )
    assert validator.activate(Operation.GET_EXTENDED_AGENT_CARD, requested) == ()


# --- who calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("tenant", ["", "umbrella", "nowhere"])
def test_a_tenant_the_caller_may_not_use_is_like_one_that_never_was(
    operation: Operation, tenant: str
) -> None:
    dan = Principal(owner="dan", tenants=frozenset({"acme", "nowhere"}))
    at = validator(tenants=("acme", "umbrella"))
    with pytest.raises(UnknownTenantError) as caught:
        at.admit(REQUESTS[operation], Call(tenant=tenant, principal=dan))
    assert caught.value.message == UnknownTenantError().message
    at.admit(REQUESTS[operation], Call(tenant="acme", principal=dan))


def test_what_hidden_skills_take_is_taken_and_not_told() -> None:
    at = RequestValidator(
        tenants=(),
        capabilities=AgentCapabilities(),
        input_modes=("text/plain",),
        hidden_input_modes=("image/png",),
        limits=ContentLimits(max_parts=10, max_id_length=10),
    )
    at.admit(send(Part(raw=b"x", media_type="image/png")), Call())
    with pytest.raises(ContentTypeNotSupportedError, match=r"takes text/plain$"):
        at.admit(send(Part(raw=b"x", media_type="image/gif")), Call())
