"""What a wire form cannot carry: every loss by its name, and what is left of a value.

The forms of 0.x are called as their dialects are (``Dialect.name``): ``0.3`` is the JSON of 0.2 and
0.3, on JSON-RPC and on HTTP+JSON, ``0.3-proto`` is the ProtoJSON of 0.3. ``1.0-grpc`` is 1.0 over
gRPC, and ``xpr`` the dialect of the XPR network, whose cards are those of the versions. The JSON of
1.0 is the model itself and loses nothing.

A value of the model that is written in a form and read again is the same value, but for the losses
in ``LOSSES``. ``left`` applies them: a round trip forgives nothing else. The table in
``docs/explanation/versions.md`` is generated from ``LOSSES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, TypeVar, cast, get_args

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.dialects.legacy.file_bytes import read_file_bytes, write_file_bytes
from dragoman.dialects.legacy.tolerant import media_type
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentSkill
from dragoman.model.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.security import (
    AuthorizationCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    SecurityScheme,
)
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

__all__ = ("FORGIVEN", "FORMS", "LOSSES", "Direction", "Form", "Loss", "left")

Form: TypeAlias = Literal["0.1", "0.3", "0.3-proto", "0.3-grpc", "1.0-grpc", "xpr"]
Direction: TypeAlias = Literal["down", "up", "both"]

FORMS: Final[tuple[Form, ...]] = get_args(Form)


class Loss(Struct, frozen=True):
    """One thing that some forms cannot carry.

    Attributes:
        name: what tests and documents call it.
        forms: the forms that have it.
        direction: ``down``: the model has it and the form does not; ``up``: peers write it in this
            form and the model does not have it; ``both``: on either way.
        what: what is lost, and what stands in its place.
    """

    name: str
    forms: tuple[Form, ...]
    direction: Direction
    what: str


_OLD: Final[tuple[Form, ...]] = ("0.1", "0.3", "0.3-proto", "0.3-grpc")
_SINCE_0_2: Final = _OLD[1:]
_AS_JSON: Final = _OLD[:3]
_PROTO: Final = _OLD[2:]
_GRPC: Final[tuple[Form, ...]] = ("0.3-grpc", "1.0-grpc")

LOSSES: Final = (
    # --- requests -------------------------------------------------------------------------------
    Loss(
        "tenant", (*_OLD, "xpr"), "down", "A request names no tenant, and is for the default one."
    ),
    Loss(
        "list-tasks",
        ("0.1",),
        "down",
        "Tasks cannot be listed; the call is refused as an unsupported operation.",
    ),
    Loss(
        "three-methods",
        ("xpr",),
        "down",
        "A task can be sent to, looked at and canceled. All else, be it streams, lists, webhooks "
        "or the extended card, is refused as an unsupported operation.",
    ),
    Loss(
        "send-configuration",
        ("xpr",),
        "down",
        "A send says nothing of modes, history, webhooks or waiting; it waits.",
    ),
    Loss(
        "absent-configuration",
        _OLD,
        "both",
        "A send without a configuration gets one that says what 1.0 means by its absence; in 0.1 "
        "it is what 0.1 means by it.",
    ),
    Loss(
        "return-immediately",
        ("0.1",),
        "down",
        "A send cannot say whether to wait; it waits for as long as the server chooses.",
    ),
    Loss(
        "history-length-zero",
        _SINCE_0_2,
        "both",
        "A length of 0 asks for all of the history here, so it is not written, and read as unset; "
        "who asked for none drops what comes.",
    ),
    Loss(
        "history-length-unset",
        ("0.1",),
        "both",
        "Without a length no history comes: unset is read as 0.",
    ),
    Loss(
        "canceled-history",
        ("0.1",),
        "down",
        "The answer to a cancellation holds no history, because it cannot be asked for.",
    ),
    Loss(
        "include-artifacts-false",
        _PROTO,
        "down",
        "That a list is wanted without artifacts is left unsaid; it is what unset means.",
    ),
    Loss("cancel-metadata", _PROTO, "down", "A cancellation has no metadata."),
    Loss(
        "request-metadata",
        ("0.1", "0.3", "xpr"),
        "up",
        "Metadata of requests other than a send and a cancellation is dropped.",
    ),
    Loss(
        "send-metadata",
        ("xpr",),
        "both",
        "The metadata of a send is that of its message, too; a task shows that of the message it "
        "was begun with.",
    ),
    Loss(
        "absent-when-empty",
        ("xpr",),
        "both",
        "Empty metadata of a send, a cancellation or a task is absent.",
    ),
    Loss(
        "mode-words",
        _OLD,
        "both",
        "The words text, file, data and json become the media types they stand for, such as "
        "text/plain.",
    ),
    Loss(
        "page-size",
        _PROTO,
        "down",
        "A page of tasks does not say how long it may be; the number of its tasks is taken for it.",
    ),
    # --- webhooks -------------------------------------------------------------------------------
    Loss(
        "push-config-task-in-send",
        _OLD,
        "down",
        "A webhook within a send does not name its task, which is the one that is sent to.",
    ),
    Loss(
        "push-config-id",
        ("0.1",),
        "down",
        "A webhook has no id: it is the only one of its task, and asked for by the task's id.",
    ),
    Loss(
        "absent-push-config-id",
        _PROTO,
        "down",
        "A webhook without an id goes by the id of its task.",
    ),
    Loss(
        "unnamed-push-config",
        ("0.3",),
        "up",
        "Who asks for a webhook without saying which is given the one that goes by the id of the "
        "task.",
    ),
    Loss(
        "push-config-paging",
        ("0.1", "0.3"),
        "down",
        "Webhooks are listed without pages: size and tokens are dropped.",
    ),
    Loss(
        "push-ids-with-slash",
        _PROTO,
        "both",
        "A task id that holds /pushNotificationConfigs/ is cut there, where the resource name has "
        "the id of a webhook.",
    ),
    Loss(
        "several-push-schemes",
        _OLD,
        "up",
        "Of several ways to authenticate to a webhook one is kept: Bearer, else Basic, else the "
        "first.",
    ),
    # --- messages -------------------------------------------------------------------------------
    Loss("message-id", ("0.1",), "down", "A message has no id; a server makes one up."),
    Loss("message-id-in-answers", ("xpr",), "down", "A message that a task shows has no id."),
    Loss("message-extensions", ("0.1", "xpr"), "down", "A message does not name its extensions."),
    Loss(
        "reference-task-ids",
        ("0.1", "0.3-proto", "xpr"),
        "down",
        "A message does not refer to other tasks.",
    ),
    Loss(
        "direct-message",
        ("0.1", "xpr"),
        "down",
        "An answer without a task is shown as a completed task whose status holds the message.",
    ),
    # --- tasks and events -----------------------------------------------------------------------
    Loss(
        "empty-context-id",
        ("0.3",),
        "both",
        "A task has to have a context; the id of the task is taken for it.",
    ),
    Loss(
        "auth-required",
        ("0.1", "xpr"),
        "down",
        "A task that waits for credentials waits for input: input-required.",
    ),
    Loss(
        "rejected",
        ("0.1",),
        "down",
        "A rejected task is shown as failed, with rejected in the metadata a2a.state; if the "
        "metadata was empty, it is absent once that is taken out.",
    ),
    Loss(
        "states-without-a-word",
        ("xpr",),
        "down",
        "A rejected task is shown as failed, and one in a state that A2A does not have as working.",
    ),
    Loss(
        "unknown-state",
        _OLD,
        "up",
        "A state that A2A does not have keeps its name and is neither an end nor a wait; of these "
        "unknown alone is an end.",
    ),
    Loss(
        "unreadable-timestamp",
        FORMS,
        "both",
        "A time that is none is left out.",
    ),
    Loss(
        "timestamp-precision",
        FORMS,
        "both",
        "Times are kept to the millisecond.",
    ),
    Loss(
        "artifact-id",
        ("0.1", "xpr"),
        "down",
        "An artifact has a number for an id, its place in the order of appearance; it is read as "
        "idx-0, idx-1 and so on.",
    ),
    Loss(
        "artifact-extensions", ("0.1", "xpr"), "down", "An artifact does not name its extensions."
    ),
    Loss(
        "empty-artifacts",
        ("0.3",),
        "up",
        "An artifact without parts is read with one part, an empty text.",
    ),
    Loss(
        "history",
        ("xpr",),
        "down",
        "A task is shown without its history, and no length of it can be asked for.",
    ),
    Loss(
        "context-of-events",
        ("0.1",),
        "down",
        "An event does not name the context; the id of the task is read for it.",
    ),
    Loss(
        "message-context",
        ("0.1", "xpr"),
        "down",
        "A message does not name its task and context; those of the task around it are read.",
    ),
    Loss(
        "task-on-stream",
        ("0.1",),
        "down",
        "A stream shows no task: its status and its artifacts are sent as events, its history and "
        "metadata are not.",
    ),
    Loss(
        "final-while-working",
        _OLD,
        "up",
        "An event that says final while the task works is read as any other.",
    ),
    # --- parts and free JSON --------------------------------------------------------------------
    Loss(
        "json-media-type",
        (*_OLD, "xpr"),
        "both",
        "The media type application/json of data is left out; it is what data is taken for.",
    ),
    Loss(
        "empty-metadata",
        (*_OLD, "xpr"),
        "both",
        "Empty metadata of a part into which a mark of ours was put is absent once the mark is "
        "taken out.",
    ),
    Loss(
        "metadata-clash",
        (*_OLD, "xpr"),
        "both",
        "Metadata under the name of a mark (a2a.v1, mimeType, filename, data_part_compat and, in "
        "0.1, a2a.state) is overwritten by the mark, or taken for it.",
    ),
    Loss(
        "uri-beside-bytes",
        (*_AS_JSON, "xpr"),
        "up",
        "Of a file with content and address the content counts; the address moves to the metadata "
        "a2a.v0.uri.",
    ),
    Loss(
        "unknown-kind-parts",
        _PROTO,
        "down",
        "A part of a kind that the model does not know travels as data, marked with a2a.v0.kind; "
        "0.1 and 0.3 restore it as it came.",
    ),
    Loss(
        "file-references",
        _PROTO,
        "down",
        "A file that is only named travels as data, marked with a2a.v0.fileReference; 0.1 and 0.3 "
        "restore it as it came.",
    ),
    Loss(
        "file-bytes-guess",
        _PROTO,
        "both",
        "Nothing tells whether file content is raw or base64 text, so it is guessed; a wrong guess "
        "leaves the base64 text, or decodes once too often.",
    ),
    Loss(
        "whole-floats",
        ("0.3-proto", *_GRPC),
        "both",
        "A whole number written as 2.0 is read as 2: protobuf has one kind of number.",
    ),
    Loss(
        "large-integers",
        _GRPC,
        "down",
        "An integer beyond 2^53 loses digits; one that no double comes near becomes a text.",
    ),
    Loss(
        "deep-nesting",
        _GRPC,
        "down",
        "JSON that is nested deeper than about 28 objects or 44 arrays is more than protobuf's "
        "readers take; what is below that travels as the text of its JSON.",
    ),
    # --- the card -------------------------------------------------------------------------------
    Loss(
        "interfaces-of-other-versions",
        _OLD,
        "down",
        "A card lists the interfaces of its own version alone.",
    ),
    Loss(
        "interfaces-with-tenant",
        _OLD,
        "down",
        "An interface with a tenant is not listed, because clients would not send the tenant back; "
        "in 0.1 it is if the address contains the tenant.",
    ),
    Loss(
        "further-interfaces",
        ("0.1",),
        "down",
        "A card has one address: that of the first interface for JSON-RPC.",
    ),
    Loss(
        "card-signatures",
        _OLD,
        "down",
        "Signatures cover the card as 1.0 has it, and are left out.",
    ),
    Loss("card-extensions", ("0.1",), "down", "A card does not name extensions."),
    Loss(
        "extended-card",
        ("0.1",),
        "down",
        "There is no extended card: none is promised, and asking for it is refused as an "
        "unsupported operation.",
    ),
    Loss("icon-url", ("0.1",), "down", "A card has no icon."),
    Loss("skill-security", ("0.1",), "down", "A skill has no security requirements of its own."),
    Loss(
        "security-details",
        ("0.1",),
        "down",
        "Security schemes go by fixed names, those required alone. Beside the names there is one "
        "text, with the place of a key and the addresses and scopes of OAuth or OpenID Connect.",
    ),
    Loss(
        "security-combinations",
        ("0.1",),
        "down",
        "That several schemes apply together cannot be said; any one of them will do.",
    ),
    Loss(
        "oauth-flow-kind",
        ("0.1",),
        "down",
        "An OAuth flow is known by its addresses: both are the authorization code flow, a token "
        "address alone is client credentials, none is a Bearer token.",
    ),
    Loss(
        "oauth-device-code",
        _SINCE_0_2,
        "down",
        "A device code flow has no place; a Bearer token is asked for instead.",
    ),
    Loss(
        "oauth-pkce-required",
        _OLD,
        "down",
        "That an authorization code flow needs PKCE is not said.",
    ),
    Loss(
        "several-oauth-flows",
        ("0.3", "0.3-proto"),
        "up",
        "A scheme with several flows becomes several schemes with one flow each; who requires it "
        "requires any one of them.",
    ),
    Loss(
        "card-security-for-proto-readers",
        ("0.3-proto",),
        "down",
        "Security requirements are written as the JSON schema has them; who reads ProtoJSON finds "
        "none.",
    ),
    Loss(
        "empty-skill-tags",
        ("0.3-grpc",),
        "down",
        "A skill without tags is read with its id as a tag.",
    ),
    Loss(
        "empty-card-modes", ("0.3-grpc",), "down", "A card without modes is read with text/plain."
    ),
    Loss(
        "absent-or-false",
        ("0.3-grpc",),
        "down",
        "False and empty texts of a card are read as absent.",
    ),
    Loss(
        "state-transition-history",
        _AS_JSON,
        "up",
        "The capability stateTransitionHistory never meant anything, and is dropped.",
    ),
    Loss(
        "unknown-members",
        (*_OLD, "xpr"),
        "up",
        "Members that A2A does not have are dropped, and security schemes of unknown types.",
    ),
    # --- errors ---------------------------------------------------------------------------------
    Loss(
        "error-kinds",
        ("0.1",),
        "down",
        "Errors that 0.1 has no code for share one with another error; data.reason tells which.",
    ),
    Loss(
        "not-let-in",
        ("xpr",),
        "down",
        "Who is not known, not allowed or too frequent, and who comes while it cannot be told, all "
        "get one code. It is read as not known; the words tell which.",
    ),
)
"""All losses, by subject."""


# --- what is left -------------------------------------------------------------------------------

K = TypeVar("K")
S = TypeVar("S", bound=Struct)

Change: TypeAlias = Callable[[object], object]
"""Takes a Struct of the model or a value of free JSON, returns what is left of it."""


def left(value: S, form: Form) -> S:
    """Return what comes back of a value that was written in a form and read again."""
    found: object = value
    for loss in LOSSES:
        if form in loss.forms:
            for change in FORGIVEN.get(loss.name, ()):
                found = _everywhere(found, change)
    return cast("S", found)


def _everywhere(value: object, change: Change) -> object:
    """Apply a change to a value and to all that it holds, the innermost first."""
    if isinstance(value, Struct):
        members = {n: _everywhere(getattr(value, n), change) for n in value.__struct_fields__}
        return change(replace(value, **members))
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: _everywhere(item, change) for name, item in items}
    if isinstance(value, tuple):
        return tuple(_everywhere(item, change) for item in cast("tuple[object, ...]", value))
    if isinstance(value, list):
        return [_everywhere(item, change) for item in cast("list[object]", value)]
    return change(value)


def of(kind: type[K], change: Callable[[K], object]) -> Change:
    """Return a change that leaves everything alone but values of one kind."""
    return lambda value: change(value) if isinstance(value, kind) else value


# --- what takes more than a line ----------------------------------------------------------------


def without_tenant(value: object) -> object:
    return replace(value, tenant="") if isinstance(value, Request) else value


def with_configuration(request: SendMessageRequest) -> SendMessageRequest:
    return replace(request, configuration=request.configuration or SendMessageConfiguration())


def webhook_without_task(configuration: SendMessageConfiguration) -> SendMessageConfiguration:
    config = configuration.task_push_notification_config
    return replace(
        configuration, task_push_notification_config=config and replace(config, task_id="")
    )


def message_within(message: Message, task_id: str, context_id: str) -> Message:
    return replace(message, task_id=task_id, context_id=context_id)


def status_within(status: TaskStatus, task_id: str, context_id: str) -> TaskStatus:
    message = status.message
    return replace(status, message=message and message_within(message, task_id, context_id))


def without_id(message: Message) -> Message:
    return replace(message, message_id="")


def messages_within(task: Task) -> Task:
    ids = task.id, task.context_id
    history = tuple(message_within(message, *ids) for message in task.history)
    return replace(task, status=status_within(task.status, *ids), history=history)


def artifacts_by_number(task: Task) -> Task:
    numbered = enumerate(task.artifacts)
    return replace(
        task, artifacts=tuple(replace(item, artifact_id=f"idx-{n}") for n, item in numbered)
    )


def part_without_empty_metadata(part: Part) -> Part:
    is_wrapped = part.kind == "data" and not isinstance(part.data, dict)
    is_described = part.kind in ("text", "data") and bool(part.media_type or part.filename)
    return replace(part, metadata=part.metadata or None) if is_wrapped or is_described else part


def task_without_mark(task: Task) -> Task:
    is_marked = task.status.state is TaskState.REJECTED
    return replace(task, metadata=task.metadata or None) if is_marked else task


def event_without_mark(event: TaskStatusUpdateEvent) -> TaskStatusUpdateEvent:
    is_marked = event.status.state is TaskState.REJECTED
    return replace(event, metadata=event.metadata or None) if is_marked else event


def part_without_clash(part: Part) -> Part:
    metadata = dict(part.metadata or {})
    has_mark = bool(part.media_type or part.filename) or metadata.get("a2a.v1") is True
    if part.kind not in ("text", "data") or not has_mark:
        return part
    metadata.pop("a2a.v1", None)
    own = {"mimeType": part.media_type, "filename": part.filename}
    for name, value in own.items():
        found = metadata.get(name)
        if value or isinstance(found, str):
            metadata.pop(name, None)
            own[name] = value or cast("str", found)
    return replace(
        part, media_type=own["mimeType"], filename=own["filename"], metadata=metadata or None
    )


def skill_with_media_types(skill: AgentSkill) -> AgentSkill:
    return replace(
        skill,
        input_modes=media_types(skill.input_modes),
        output_modes=media_types(skill.output_modes),
    )


def card_with_media_types(card: AgentCard) -> AgentCard:
    return replace(
        card,
        default_input_modes=media_types(card.default_input_modes),
        default_output_modes=media_types(card.default_output_modes),
    )


def media_types(modes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(media_type, modes))


def guessed(part: Part) -> Part:
    if part.raw is None:
        return part
    return replace(part, raw=read_file_bytes(write_file_bytes(part.raw), part.media_type))


def bearer_for_device_code(scheme: SecurityScheme) -> SecurityScheme:
    oauth = scheme.oauth2_security_scheme
    if oauth is None or oauth.flows.device_code is None:
        return scheme
    bearer = HTTPAuthSecurityScheme(description=oauth.description, scheme="Bearer")
    return SecurityScheme(http_auth_security_scheme=bearer)


def card_with_modes(card: AgentCard) -> AgentCard:
    return replace(
        card,
        default_input_modes=card.default_input_modes or ("text/plain",),
        default_output_modes=card.default_output_modes or ("text/plain",),
    )


def capabilities_without_false(found: AgentCapabilities) -> AgentCapabilities:
    return replace(
        found,
        streaming=found.streaming or None,
        push_notifications=found.push_notifications or None,
        extended_agent_card=found.extended_agent_card or None,
    )


def card_without_empty_texts(card: AgentCard) -> AgentCard:
    return replace(
        card, documentation_url=card.documentation_url or None, icon_url=card.icon_url or None
    )


def send_with_metadata(request: SendMessageRequest) -> SendMessageRequest:
    joined = {**(request.message.metadata or {}), **(request.metadata or {})}
    return replace(request, message=replace(request.message, metadata=joined))


def send_without_empty_metadata(request: SendMessageRequest) -> SendMessageRequest:
    message = request.message
    return replace(
        request,
        message=replace(message, metadata=message.metadata or None),
        metadata=request.metadata or None,
    )


def task_with_metadata_of_its_beginning(task: Task) -> Task:
    first = task.history[0].metadata if task.history else None
    return replace(task, metadata={**(first or {}), **(task.metadata or {})})


_SHOWN_AS: Final = {
    **{state: state for state in TaskState},
    TaskState.REJECTED: TaskState.FAILED,
}


# --- the rows -----------------------------------------------------------------------------------

FORGIVEN: Final[Mapping[str, tuple[Change, ...]]] = {
    "tenant": (without_tenant,),
    "absent-configuration": (of(SendMessageRequest, with_configuration),),
    "return-immediately": (
        of(SendMessageConfiguration, lambda asked: replace(asked, return_immediately=UNSET)),
    ),
    "send-configuration": (of(SendMessageRequest, lambda it: replace(it, configuration=None)),),
    "send-metadata": (
        of(SendMessageRequest, send_with_metadata),
        of(Task, task_with_metadata_of_its_beginning),
    ),
    "absent-when-empty": (
        of(SendMessageRequest, send_without_empty_metadata),
        of(CancelTaskRequest, lambda it: replace(it, metadata=it.metadata or None)),
        of(Task, lambda it: replace(it, metadata=it.metadata or None)),
    ),
    "history": (
        of(Task, lambda it: replace(it, history=())),
        of(GetTaskRequest, lambda it: replace(it, history_length=None)),
    ),
    "states-without-a-word": (of(TaskState, lambda it: _SHOWN_AS.get(it, TaskState.WORKING)),),
    "history-length-zero": (
        of(GetTaskRequest, lambda it: replace(it, history_length=it.history_length or None)),
        of(ListTasksRequest, lambda it: replace(it, history_length=it.history_length or None)),
        of(
            SendMessageConfiguration,
            lambda it: replace(it, history_length=it.history_length or None),
        ),
    ),
    "history-length-unset": (
        of(GetTaskRequest, lambda it: replace(it, history_length=it.history_length or 0)),
        of(SendMessageConfiguration, lambda it: replace(it, history_length=it.history_length or 0)),
    ),
    "include-artifacts-false": (
        of(
            ListTasksRequest, lambda it: replace(it, include_artifacts=it.include_artifacts or None)
        ),
    ),
    "cancel-metadata": (of(CancelTaskRequest, lambda it: replace(it, metadata=None)),),
    "mode-words": (
        of(
            SendMessageConfiguration,
            lambda it: replace(it, accepted_output_modes=media_types(it.accepted_output_modes)),
        ),
        of(AgentCard, card_with_media_types),
        of(AgentSkill, skill_with_media_types),
    ),
    "page-size": (of(ListTasksResponse, lambda it: replace(it, page_size=len(it.tasks))),),
    "push-config-task-in-send": (of(SendMessageConfiguration, webhook_without_task),),
    "push-config-id": (
        of(TaskPushNotificationConfig, lambda it: replace(it, id="")),
        of(GetTaskPushNotificationConfigRequest, lambda it: replace(it, id=it.task_id)),
    ),
    "absent-push-config-id": (
        of(TaskPushNotificationConfig, lambda it: replace(it, id=it.id or it.task_id)),
    ),
    "push-config-paging": (
        of(
            ListTaskPushNotificationConfigsRequest,
            lambda it: replace(it, page_size=0, page_token=""),
        ),
        of(ListTaskPushNotificationConfigsResponse, lambda it: replace(it, next_page_token="")),
    ),
    "message-id": (of(Message, lambda it: replace(it, message_id="")),),
    "message-id-in-answers": (
        of(TaskStatus, lambda it: replace(it, message=it.message and without_id(it.message))),
    ),
    "message-extensions": (of(Message, lambda it: replace(it, extensions=())),),
    "reference-task-ids": (of(Message, lambda it: replace(it, reference_task_ids=())),),
    "message-context": (
        of(Task, messages_within),
        of(
            TaskStatusUpdateEvent,
            lambda it: replace(it, status=status_within(it.status, it.task_id, it.task_id)),
        ),
        # The name of the task is the alias of the reading.
        of(SendMessageRequest, lambda it: replace(it, message=replace(it.message, task_id=""))),
    ),
    "empty-context-id": (of(Task, lambda it: replace(it, context_id=it.context_id or it.id)),),
    "auth-required": (
        of(TaskState, lambda it: TaskState.INPUT_REQUIRED if it is TaskState.AUTH_REQUIRED else it),
    ),
    "rejected": (of(Task, task_without_mark), of(TaskStatusUpdateEvent, event_without_mark)),
    "artifact-id": (
        of(Task, artifacts_by_number),
        of(
            TaskArtifactUpdateEvent,
            lambda it: replace(it, artifact=replace(it.artifact, artifact_id="idx-0")),
        ),
    ),
    "artifact-extensions": (of(Artifact, lambda it: replace(it, extensions=())),),
    "context-of-events": (
        of(TaskStatusUpdateEvent, lambda it: replace(it, context_id=it.task_id)),
        of(TaskArtifactUpdateEvent, lambda it: replace(it, context_id=it.task_id)),
    ),
    "empty-metadata": (of(Part, part_without_empty_metadata),),
    "metadata-clash": (of(Part, part_without_clash),),
    "file-bytes-guess": (of(Part, guessed),),
    "large-integers": (of(int, lambda it: float(it) if abs(it) > 2**53 else it),),
    "card-signatures": (of(AgentCard, lambda it: replace(it, signatures=())),),
    "card-extensions": (of(AgentCapabilities, lambda it: replace(it, extensions=())),),
    "extended-card": (of(AgentCapabilities, lambda it: replace(it, extended_agent_card=None)),),
    "icon-url": (of(AgentCard, lambda it: replace(it, icon_url=None)),),
    "skill-security": (of(AgentSkill, lambda it: replace(it, security_requirements=())),),
    "oauth-device-code": (of(SecurityScheme, bearer_for_device_code),),
    "oauth-pkce-required": (
        of(AuthorizationCodeOAuthFlow, lambda it: replace(it, pkce_required=False)),
    ),
    "empty-skill-tags": (of(AgentSkill, lambda it: replace(it, tags=it.tags or (it.id,))),),
    "empty-card-modes": (of(AgentCard, card_with_modes),),
    "absent-or-false": (
        of(AgentCapabilities, capabilities_without_false),
        of(AgentCard, card_without_empty_texts),
    ),
}
"""By the name of the loss: what it does to a value, and to each value within it.

Losses that the strategies never come across are not here.
"""
