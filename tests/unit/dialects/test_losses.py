"""Every loss, shown with a value that goes through the codec of each form that has it."""

from typing import Any, Final, cast

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.errors import (
    InvalidAgentResponseError,
    UnsupportedOperationError,
)
from dragoman.model.base import JsonObject
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import UNSPECIFIED, Artifact, Task, TaskState, TaskStatus
from tests.support.dialects.carrying import (
    AS_JSON,
    DIALECTS,
    GRPC,
    OLD,
    PROTO,
    SINCE_0_2,
    Showing,
    answered,
    asked,
    events_back,
    frames_of,
    on_wire,
    task_back,
    wire,
)
from tests.support.losses import FORGIVEN, FORMS, LOSSES, Form
from tests.unit.dialects.profiles.xpr.test_losses import shows as shows_of_xpr
from tests.unit.dialects.test_card_losses import shows as shows_of_cards

GET: Final = Operation.GET_TASK
GET_HOOK: Final = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
LIST_HOOKS: Final = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
SEND: Final = Operation.SEND_MESSAGE

shows = Showing()


def test_every_loss_is_shown_in_every_form_that_has_it() -> None:
    listed = [(loss.name, form) for loss in LOSSES for form in loss.forms]
    shown = [*shows.shown, *shows_of_cards.shown, *shows_of_xpr.shown]
    assert sorted(shown) == sorted(listed)


def test_the_table_is_in_order() -> None:
    names = [loss.name for loss in LOSSES]
    assert len(set(names)) == len(names)
    for loss in LOSSES:
        assert loss.forms == tuple(form for form in FORMS if form in loss.forms), loss.name
        assert loss.what.endswith("."), loss.name


def test_round_trips_forgive_nothing_that_is_not_listed() -> None:
    assert FORGIVEN.keys() <= {loss.name for loss in LOSSES}


# --- values that lose nothing -------------------------------------------------------------------

TIME: Final = "2026-01-02T03:04:05.678Z"
HELLO: Final = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))
TASK: Final = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))
HOOK: Final = TaskPushNotificationConfig(task_id="t", id="h", url="https://hook.example")


def configuration_back(
    form: Form, configuration: SendMessageConfiguration | None
) -> SendMessageConfiguration:
    request = SendMessageRequest(message=HELLO, configuration=configuration)
    read = asked(form, request).configuration
    assert read is not None
    return read


def message_back(form: Form, message: Message) -> Message:
    return task_back(form, replace(TASK, history=(message,))).history[0]


def part_back(form: Form, part: Part) -> Part:
    (artifact,) = task_back(form, replace(TASK, artifacts=(artifact_of(part),))).artifacts
    return artifact.parts[0]


def artifact_of(part: Part) -> Artifact:
    return Artifact(artifact_id="a", parts=(part,))


def status_of(**members: object) -> Task:
    return replace(TASK, status=replace(TASK.status, **members))


@pytest.mark.parametrize("form", OLD)
def test_these_values_lose_nothing(form: Form) -> None:
    assert task_back(form, TASK) == TASK


# --- requests -----------------------------------------------------------------------------------


@shows("tenant", *OLD, "xpr")
def test_a_request_names_no_tenant(form: Form) -> None:
    assert asked(form, CancelTaskRequest(id="t", tenant="acme")) == CancelTaskRequest(id="t")


@shows("list-tasks", "0.1")
def test_tasks_cannot_be_listed(form: Form) -> None:
    with pytest.raises(UnsupportedOperationError):
        asked(form, ListTasksRequest())


@shows("absent-configuration", *SINCE_0_2)
def test_a_send_without_configuration_says_what_that_means(form: Form) -> None:
    assert configuration_back(form, None) == SendMessageConfiguration()


@shows("absent-configuration", "0.1")
def test_a_send_without_configuration_wants_no_history(form: Form) -> None:
    assert configuration_back(form, None) == SendMessageConfiguration(
        history_length=0, return_immediately=UNSET
    )


@shows("return-immediately", "0.1")
def test_a_send_waits(form: Form) -> None:
    configuration = SendMessageConfiguration(return_immediately=True, history_length=0)
    assert configuration_back(form, configuration) == replace(
        configuration, return_immediately=UNSET
    )


@shows("history-length-zero", *SINCE_0_2)
def test_no_history_cannot_be_asked_for(form: Form) -> None:
    assert asked(form, GetTaskRequest(id="t", history_length=0)) == GetTaskRequest(id="t")


@shows("history-length-unset", "0.1")
def test_history_must_be_asked_for(form: Form) -> None:
    assert asked(form, GetTaskRequest(id="t")) == GetTaskRequest(id="t", history_length=0)


@shows("canceled-history", "0.1")
def test_a_cancellation_is_answered_without_history(form: Form) -> None:
    task = TaskDocument.of(replace(TASK, history=(HELLO,)))
    assert answered(form, Operation.CANCEL_TASK, task) == TASK


@shows("include-artifacts-false", *PROTO)
def test_a_list_without_artifacts_is_the_default(form: Form) -> None:
    assert asked(form, ListTasksRequest(include_artifacts=False)) == ListTasksRequest()


@shows("cancel-metadata", *PROTO)
def test_a_cancellation_has_no_metadata(form: Form) -> None:
    request = CancelTaskRequest(id="t", metadata={"why": "late"})
    assert asked(form, request) == CancelTaskRequest(id="t")


@shows("request-metadata", "0.1", "0.3")
def test_metadata_of_other_requests_is_dropped(form: Form) -> None:
    params = b'{"id":"t","historyLength":2,"metadata":{"a":1}}'
    read = DIALECTS[form].decode_request(GET, params).request
    assert read == GetTaskRequest(id="t", history_length=2)


@shows("mode-words", *OLD)
def test_words_become_media_types(form: Form) -> None:
    words = SendMessageConfiguration(accepted_output_modes=("text", "file", "json", "image/png"))
    types = ("text/plain", "application/octet-stream", "application/json", "image/png")
    assert configuration_back(form, words).accepted_output_modes == types


@shows("page-size", *PROTO)
def test_a_page_does_not_say_how_long_it_may_be(form: Form) -> None:
    page = TaskPage(tasks=(TaskDocument.of(TASK),), next_page_token="", page_size=50, total_size=1)
    assert answered(form, Operation.LIST_TASKS, page) == ListTasksResponse(
        tasks=(TASK,), next_page_token="", page_size=1, total_size=1
    )


# --- webhooks -----------------------------------------------------------------------------------


@shows("push-config-task-in-send", *OLD)
def test_the_webhook_of_a_send_is_for_its_task(form: Form) -> None:
    configuration = SendMessageConfiguration(task_push_notification_config=HOOK)
    hook = configuration_back(form, configuration).task_push_notification_config
    assert hook is not None
    assert (hook.url, hook.task_id) == (HOOK.url, "")


@shows("push-config-id", "0.1")
def test_a_webhook_has_no_id(form: Form) -> None:
    assert asked(form, HOOK) == replace(HOOK, id="")
    request = GetTaskPushNotificationConfigRequest(task_id="t", id="h")
    assert asked(form, request) == replace(request, id="t")


@shows("absent-push-config-id", *PROTO)
def test_a_webhook_without_an_id_goes_by_that_of_its_task(form: Form) -> None:
    assert asked(form, replace(HOOK, id="")) == replace(HOOK, id="t")


@shows("unnamed-push-config", "0.3")
def test_a_webhook_that_is_not_named_is_that_of_the_task(form: Form) -> None:
    read = DIALECTS[form].decode_request(GET_HOOK, b'{"id":"t"}').request
    assert read == GetTaskPushNotificationConfigRequest(task_id="t", id="t")


@shows("push-config-paging", "0.1", "0.3")
def test_a_list_of_webhooks_is_asked_for_as_a_whole(form: Form) -> None:
    request = ListTaskPushNotificationConfigsRequest(task_id="t", page_size=2, page_token="p")  # noqa: S106 - no secret
    written = DIALECTS[form].encode_request(LIST_HOOKS, request)
    assert msgspec.json.decode(written) == {"id": "t"}


def test_a_list_of_webhooks_comes_as_a_whole() -> None:
    listed = ListTaskPushNotificationConfigsResponse(configs=(HOOK,), next_page_token="p")  # noqa: S106 - no secret
    assert answered("0.3", LIST_HOOKS, listed) == replace(listed, next_page_token="")


@shows("push-ids-with-slash", *PROTO)
def test_a_resource_name_is_cut_at_its_first_segment(form: Form) -> None:
    hook = replace(HOOK, task_id="t/pushNotificationConfigs/x")
    assert answered(form, GET_HOOK, hook) == replace(HOOK, task_id="t")


@shows("several-push-schemes", *OLD)
def test_one_scheme_of_a_webhook_is_kept(form: Form) -> None:
    names = {
        "0.1": {"id": "t"},
        "0.3": {"taskId": "t"},
        "0.3-proto": {"name": "tasks/t/pushNotificationConfigs/h"},
        "0.3-grpc": {"name": "tasks/t/pushNotificationConfigs/h"},
    }
    authentication = {"schemes": ["Digest", "Basic", "Bearer"], "credentials": "x"}
    hook = {"url": HOOK.url, "authentication": authentication}
    members: JsonObject = {**names[form], "pushNotificationConfig": hook}
    data = wire(form, "TaskPushNotificationConfig", members)
    read = DIALECTS[form].decode_result(GET_HOOK, data)
    assert isinstance(read, TaskPushNotificationConfig)
    assert read.authentication == AuthenticationInfo(scheme="Bearer", credentials="x")


# --- messages -----------------------------------------------------------------------------------


@shows("message-id", "0.1")
def test_a_message_has_no_id(form: Form) -> None:
    assert message_back(form, HELLO).message_id == ""


@shows("message-extensions", "0.1")
def test_a_message_does_not_name_extensions(form: Form) -> None:
    assert message_back(form, replace(HELLO, extensions=("urn:x",))).extensions == ()


@shows("reference-task-ids", "0.1", "0.3-proto")
def test_a_message_does_not_refer_to_tasks(form: Form) -> None:
    assert message_back(form, replace(HELLO, reference_task_ids=("t-0",))).reference_task_ids == ()


@shows("direct-message", "0.1", "xpr")
def test_a_direct_answer_is_a_completed_task(form: Form) -> None:
    task = answered(form, SEND, HELLO)
    assert isinstance(task, Task)
    assert task.status.state is TaskState.COMPLETED
    assert task.status.message is not None
    assert task.status.message.parts == HELLO.parts


# --- tasks and events ---------------------------------------------------------------------------


@shows("empty-context-id", "0.3")
def test_the_id_of_a_task_is_its_context(form: Form) -> None:
    assert task_back(form, replace(TASK, context_id="")) == replace(TASK, context_id="t")


@shows("auth-required", "0.1", "xpr")
def test_credentials_are_input(form: Form) -> None:
    task = status_of(state=TaskState.AUTH_REQUIRED)
    assert task_back(form, task) == status_of(state=TaskState.INPUT_REQUIRED)


@shows("rejected", "0.1")
def test_a_rejected_task_is_shown_as_failed(form: Form) -> None:
    task = replace(status_of(state=TaskState.REJECTED), metadata={})
    written = msgspec.json.decode(DIALECTS[form].encode_result(GET, TaskDocument.of(task)))
    assert written["status"] == {"state": "failed"}
    assert written["metadata"] == {"a2a.state": "rejected"}
    assert task_back(form, task) == replace(task, metadata=None)


@shows("unknown-state", *OLD)
def test_a_task_in_an_unknown_state_keeps_it(form: Form) -> None:
    is_named = form in ("0.1", "0.3")
    state = "unknown" if is_named else "TASK_STATE_UNSPECIFIED"
    data = wire(form, "Task", {"id": "t", "contextId": "c", "status": {"state": state}})
    task = DIALECTS[form].decode_result(GET, data)
    assert isinstance(task, Task)
    expected = TaskState("TASK_STATE_UNKNOWN") if is_named else UNSPECIFIED
    assert task.status.state is expected
    assert task.status.state.is_terminal == is_named
    # Who hands it on says it as the form has it.
    assert task_back(form, task).status.state is expected


@shows("unreadable-timestamp", *FORMS)
def test_a_time_that_is_none_is_left_out(form: Form) -> None:
    assert task_back(form, status_of(timestamp="yesterday")) == TASK


@shows("timestamp-precision", *FORMS)
def test_times_are_kept_to_the_millisecond(form: Form) -> None:
    read = task_back(form, status_of(timestamp="2026-01-02T03:04:05.123456Z")).status.timestamp
    # Where a time is no text it is rounded up, so that it is never before itself.
    assert read == f"2026-01-02T03:04:05.{124 if form in GRPC else 123}Z"


@shows("artifact-id", "0.1", "xpr")
def test_an_artifact_goes_by_its_number(form: Form) -> None:
    artifacts = (artifact_of(Part(text="x")), replace(artifact_of(Part(text="y")), artifact_id="b"))
    read = task_back(form, replace(TASK, artifacts=artifacts)).artifacts
    assert [artifact.artifact_id for artifact in read] == ["idx-0", "idx-1"]


@shows("artifact-extensions", "0.1", "xpr")
def test_an_artifact_does_not_name_extensions(form: Form) -> None:
    artifact = replace(artifact_of(Part(text="x")), artifact_id="idx-0", extensions=("urn:x",))
    (read,) = task_back(form, replace(TASK, artifacts=(artifact,))).artifacts
    assert read == replace(artifact, extensions=())


@shows("empty-artifacts", "0.3")
def test_an_artifact_without_parts_has_an_empty_text(form: Form) -> None:
    artifact: JsonObject = {"artifactId": "a", "parts": []}
    update: JsonObject = {
        "kind": "artifact-update",
        "taskId": "t",
        "contextId": "c",
        "artifact": artifact,
    }
    read = DIALECTS[form].decode_event(msgspec.json.encode(update))
    assert read.artifact_update is not None
    assert read.artifact_update.artifact == artifact_of(Part(text=""))


@shows("context-of-events", "0.1")
def test_an_event_does_not_name_its_context(form: Form) -> None:
    update = TaskStatusUpdateEvent(task_id="t", context_id="c", status=TASK.status)
    (read,) = events_back(form, StreamResponse(status_update=update))
    assert read.status_update == replace(update, context_id="t")


@shows("message-context", "0.1")
def test_a_message_is_of_the_task_around_it(form: Form) -> None:
    read = message_back(form, replace(HELLO, task_id="another", context_id=""))
    assert (read.task_id, read.context_id) == (TASK.id, TASK.context_id)


@shows("task-on-stream", "0.1")
def test_a_stream_shows_a_task_as_events(form: Form) -> None:
    artifact = artifact_of(Part(text="x"))
    task = replace(TASK, artifacts=(artifact,), history=(HELLO,), metadata={"a": 1})
    status, result = events_back(form, StreamResponse(task=task))
    assert status == StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="t", status=TASK.status)
    )
    assert result == StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(
            task_id="t", context_id="t", artifact=replace(artifact, artifact_id="idx-0")
        )
    )


@shows("final-while-working", *OLD)
def test_the_end_of_a_stream_is_not_read(form: Form) -> None:
    update = StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="t", status=TASK.status)
    )
    (frame,) = frames_of(form, update)
    members = on_wire(form, "StreamResponse", frame)
    cast("JsonObject", members.get("statusUpdate", members))["final"] = True
    frame = wire(form, "StreamResponse", members)
    assert DIALECTS[form].decode_event(frame) == update


# --- parts and free JSON ------------------------------------------------------------------------


@shows("json-media-type", *OLD, "xpr")
def test_that_data_is_json_is_left_unsaid(form: Form) -> None:
    part = Part(data={"a": 1}, media_type="application/json")
    assert part_back(form, part) == Part(data={"a": 1})


@shows("empty-metadata", *OLD, "xpr")
def test_empty_metadata_beside_a_mark_is_absent(form: Form) -> None:
    assert part_back(form, Part(data=[1], metadata={})) == Part(data=[1])
    assert part_back(form, Part(text="x", metadata={})) == Part(text="x", metadata={})


@shows("metadata-clash", *OLD, "xpr")
def test_metadata_with_the_name_of_a_mark_is_overwritten(form: Form) -> None:
    part = Part(text="x", media_type="text/markdown", metadata={"mimeType": "mine", "a": 1})
    assert part_back(form, part) == replace(part, metadata={"a": 1})


def test_in_0_1_metadata_can_be_taken_for_a_state() -> None:
    task = replace(status_of(state=TaskState.FAILED), metadata={"a2a.state": "rejected"})
    assert task_back("0.1", task) == status_of(state=TaskState.REJECTED)


@shows("uri-beside-bytes", *AS_JSON)
def test_of_bytes_and_uri_the_bytes_count(form: Form) -> None:
    file = {"bytes": "aGk=", "uri": "https://files.example/x", "mimeType": "text/plain"}
    kind = {"0.1": {"type": "file"}, "0.3": {"kind": "file"}}.get(form, {})
    state = TaskState.WORKING.value if form == "0.3-proto" else "working"
    artifact = {"artifactId": "a", "parts": [{**kind, "file": file}]}
    task = {"id": "t", "status": {"state": state}, "artifacts": [artifact]}
    read = DIALECTS[form].decode_result(GET, msgspec.json.encode(task))
    assert isinstance(read, Task)
    assert read.artifacts[0].parts[0] == Part(
        raw=b"hi", media_type="text/plain", metadata={"a2a.v0.uri": "https://files.example/x"}
    )


def part_on_wire(form: Form, part: Part) -> object:
    task = TaskDocument.of(replace(TASK, artifacts=(artifact_of(part),)))
    members = on_wire(form, "Task", DIALECTS[form].encode_result(GET, task))
    (artifact,) = cast("list[JsonObject]", members["artifacts"])
    (found,) = cast("list[object]", artifact["parts"])
    return found


@shows("unknown-kind-parts", *PROTO)
def test_a_part_of_an_unknown_kind_travels_as_data(form: Form) -> None:
    came = {"kind": "tool-use", "name": "hammer"}
    part = Part(data=came, metadata={"a2a.v0.kind": "tool-use"})
    assert part_on_wire(form, part) == {"data": {"data": came}, "metadata": part.metadata}
    assert part_on_wire("0.3", part) == came


@shows("file-references", *PROTO)
def test_a_file_that_is_only_named_travels_as_data(form: Form) -> None:
    named = {"name": "f.txt"}
    part = Part(data=named, metadata={"a2a.v0.fileReference": True})
    assert part_on_wire(form, part) == {"data": {"data": named}, "metadata": part.metadata}
    assert part_on_wire("0.3", part) == {"kind": "file", "file": named}


@shows("file-bytes-guess", *PROTO)
def test_file_content_is_guessed(form: Form) -> None:
    # Bytes that are no text, said to be one.
    part = Part(raw=b"\x00", media_type="text/plain")
    assert part_back(form, part) == replace(part, raw=b"AA==")


@shows("whole-floats", "0.3-proto", *GRPC)
def test_a_whole_number_is_an_integer(form: Form) -> None:
    read = part_back(form, Part(data={"n": 2.0})).data
    assert repr(read) == "{'n': 2}"


@shows("large-integers", *GRPC)
def test_large_integers_lose_digits(form: Form) -> None:
    part = Part(data={"n": 2**53 + 1, "huge": 10**400})
    assert part_back(form, part).data == {"n": 2**53, "huge": "1" + "0" * 400}


@shows("deep-nesting", *GRPC)
def test_deep_json_becomes_text_where_a_reader_would_give_up(form: Form) -> None:
    data: object = 1
    for _ in range(40):
        data = {"a": data}
    kept = cast("Any", part_back(form, Part(data=data)).data)
    depth = 0
    while isinstance(kept, dict):
        kept, data = cast("Any", kept)["a"], cast("Any", data)["a"]
        depth += 1
    assert depth > 25
    assert msgspec.json.decode(kept) == data


# --- errors -------------------------------------------------------------------------------------


@shows("error-kinds", "0.1")
def test_errors_share_codes(form: Form) -> None:
    del form
    problem = InvalidAgentResponseError("It returned nothing")
    error = msgspec.json.decode(V0_1_DIALECT.encode_error(problem))
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert error["data"] == {"reason": "INVALID_AGENT_RESPONSE", "detail": "It returned nothing"}
    assert isinstance(V0_1_DIALECT.decode_error(error), InvalidAgentResponseError)
