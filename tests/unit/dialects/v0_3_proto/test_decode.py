"""From the messages of the proto to the model."""

from base64 import b64encode

import pytest

from dragoman.dialects.legacy.file_bytes import FileBytes
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import AnswerDecoder, Decoder, count, state_of
from dragoman.errors import InvalidParamsError
from dragoman.model.base import INT32_MAX
from dragoman.model.messages import Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState

DECODER = Decoder(None)
STATUS = wire.TaskStatus(state="TASK_STATE_WORKING")
CONTENT = (wire.Part(text="x"),)
BINARY = b"\x00\x01\x02\xff"


def part_of(found: wire.Part, pinned: FileBytes | None = None) -> Part:
    message = wire.Message(message_id="m", content=(found,))
    (part,) = Decoder(pinned).message(message, "message", Role.USER).parts
    return part


def place_of_refusal(frame: wire.StreamResponse) -> str:
    with pytest.raises(InvalidParamsError) as caught:
        DECODER.payload(frame)
    (violation,) = caught.value.violations
    return violation.field


# --- scalars ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("TASK_STATE_CANCELLED", TaskState.CANCELED),
        ("TASK_STATE_CANCELED", TaskState.CANCELED),
        ("input-required", TaskState.INPUT_REQUIRED),
        *[(f"TASK_STATE_{state.name}", state) for state in TaskState],
        *enumerate(TaskState, 1),
        ("5", TaskState.CANCELED),
    ],
)
def test_a_state_is_read_by_name_or_number(value: wire.EnumValue, state: TaskState) -> None:
    assert state_of(value, "state") is state


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "is required"),
        ("", "is required"),
        (0, "is required"),
        ("TASK_STATE_UNSPECIFIED", "is not one of the known values"),
        ("TASK_STATE_DREAMING", "is not one of the known values"),
        (9, "is not one of the known values"),
        (-1, "is not one of the known values"),
    ],
)
def test_what_is_no_state_is_refused(value: wire.EnumValue | None, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        state_of(value, "status.state")
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == ("status.state", description)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("TASK_STATE_CANCELLED", "TASK_STATE_CANCELED"),
        (2, "TASK_STATE_WORKING"),
        # ProtoJSON leaves the value 0 out.
        (None, "TASK_STATE_UNSPECIFIED"),
        (0, "TASK_STATE_UNSPECIFIED"),
        ("TASK_STATE_UNSPECIFIED", "TASK_STATE_UNSPECIFIED"),
        ("TASK_STATE_DREAMING", "TASK_STATE_DREAMING"),
        (9, "TASK_STATE_9"),
        (-1, "TASK_STATE__1"),
    ],
)
def test_a_task_may_be_in_a_state_that_we_do_not_know(
    value: wire.EnumValue | None, name: str
) -> None:
    task = wire.Task(id="t", status=wire.TaskStatus(state=value))
    found = DECODER.payload(wire.StreamResponse(task=task)).task
    assert found is not None
    assert found.status.state.value == name


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (None, None),
        (0, None),
        ("0", None),
        (5, 5),
        (5.0, 5),
        ("5", 5),
        (INT32_MAX, INT32_MAX),
    ],
)
def test_a_count_is_read_from_number_or_text(value: wire.Number | None, number: int | None) -> None:
    assert count(value, "n") == number


@pytest.mark.parametrize("value", [-1, "-1", 5.5, "5.5", "", "x", INT32_MAX + 1, 1e300, "9" * 5000])
def test_what_is_no_count_is_refused(value: wire.Number) -> None:
    with pytest.raises(InvalidParamsError):
        count(value, "n")


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "role"),
    [
        ("ROLE_USER", Role.USER),
        ("ROLE_AGENT", Role.AGENT),
        (1, Role.USER),
        (2, Role.AGENT),
        ("agent", Role.AGENT),
        # absent and odd ones are taken for the one that fits the place
        (None, Role.USER),
        (0, Role.USER),
        ("ROLE_UNSPECIFIED", Role.USER),
        ("ROLE_SYSTEM", Role.USER),
    ],
)
def test_a_role_is_read_by_name_or_number(value: wire.EnumValue | None, role: Role) -> None:
    found = wire.Message(message_id="m", role=value, content=CONTENT)
    assert DECODER.message(found, "message", Role.USER).role is role


def test_a_message_without_an_id_has_an_empty_one() -> None:
    found = wire.Message(content=CONTENT)
    assert DECODER.message(found, "message", Role.USER).message_id == ""


def test_parts_are_read_by_their_early_and_their_late_name() -> None:
    late = wire.Message(message_id="m", parts=CONTENT)
    assert DECODER.message(late, "message", Role.USER).parts == (Part(text="x"),)
    both = wire.Message(message_id="m", content=CONTENT, parts=(wire.Part(text="y"),))
    assert DECODER.message(both, "message", Role.USER).parts == (Part(text="x"),)


def test_references_to_tasks_are_read_where_a_peer_sends_them() -> None:
    found = wire.Message(message_id="m", content=CONTENT, reference_task_ids=("t",))
    assert DECODER.message(found, "message", Role.USER).reference_task_ids == ("t",)


# --- parts ------------------------------------------------------------------------------------


def file_part(content: bytes | str, mime_type: str | None = None) -> wire.Part:
    text = content if isinstance(content, str) else b64encode(content).decode()
    return wire.Part(file={"fileWithBytes": text, "mimeType": mime_type, "name": "f"})


@pytest.mark.parametrize(
    ("found", "part"),
    [
        (wire.Part(text=""), Part(text="")),
        (wire.Part(text="x", metadata={"a": 1}), Part(text="x", metadata={"a": 1})),
        (
            wire.Part(file={"fileWithUri": "u", "mimeType": "a/b", "name": "f"}),
            Part(url="u", media_type="a/b", filename="f"),
        ),
        (
            wire.Part(file={"file_with_uri": "u", "mime_type": "a/b"}),
            Part(url="u", media_type="a/b"),
        ),
        (wire.Part(file={"uri": "u"}), Part(url="u")),
        (wire.Part(data={"data": {"a": 1}}), Part(data={"a": 1})),
        (wire.Part(data={"data": {"data": {"a": 1}}}), Part(data={"data": {"a": 1}})),
        (wire.Part(data={}), Part(data={})),
        # without the member of its own
        (wire.Part(data={"a": 1}), Part(data={"a": 1})),
        (wire.Part(data={"data": [1]}), Part(data={"data": [1]})),
        # marks (0.x reference, 5.7)
        (
            wire.Part(data={"data": {"value": [1]}}, metadata={"data_part_compat": True}),
            Part(data=[1]),
        ),
        (
            wire.Part(text="x", metadata={"a2a.v1": True, "mimeType": "text/html"}),
            Part(text="x", media_type="text/html"),
        ),
        # neither content nor address: a mere reference
        (
            wire.Part(file={"name": "f", "mimeType": "a/b"}),
            Part(data={"name": "f", "mimeType": "a/b"}, metadata={"a2a.v0.fileReference": True}),
        ),
    ],
)
def test_a_part_is_known_by_its_member(found: wire.Part, part: Part) -> None:
    assert part_of(found) == part


def test_a_struct_s_floats_become_the_integers_they_were() -> None:
    found = wire.Part(data={"data": {"n": [1.0, 1.5, -0.0], "big": 1e300}}, metadata={"k": 2.0})
    part = part_of(found)
    assert repr(part.data) == repr({"n": [1, 1.5, 0], "big": 1e300})
    assert repr(part.metadata) == repr({"k": 2})


@pytest.mark.parametrize(
    "text",
    [
        "AAEC/w==",
        "AAEC_w==",
        "AAEC/w",
        " AAEC\n/w== ",
        # base64 text inside the bytes, as most SDKs write it
        "QUFFQy93PT0=",
    ],
)
def test_file_content_is_read_from_all_kinds_of_base64(text: str) -> None:
    part = part_of(file_part(text, "x/y"))
    assert part == Part(raw=BINARY, media_type="x/y", filename="f")


def test_a_pinned_peer_s_file_content_is_taken_as_it_is() -> None:
    found = file_part(b"AAEC/w==", "x/y")
    assert part_of(found, "raw").raw == b"AAEC/w=="
    assert part_of(found, "base64text").raw == BINARY


@pytest.mark.parametrize(
    ("content", "mime_type", "pinned", "is_raw"),
    [
        (BINARY, "x/y", None, True),
        (b"hello world", "text/plain", None, True),
        (b"AAEC/w==", "x/y", None, False),
        # taken for the content, although it may be base64 text
        (b"Rome", "text/plain", None, False),
        (b"", "x/y", None, False),
        # nothing is to be learned of a peer that is known
        (BINARY, "x/y", "raw", False),
        (BINARY, "x/y", "base64text", False),
    ],
)
def test_file_content_that_is_raw_tells_the_peer_s_habit(
    content: bytes,
    mime_type: str,
    pinned: FileBytes | None,
    is_raw: bool,  # noqa: FBT001 - a column of a table
) -> None:
    decoder = Decoder(pinned)
    parts = (wire.Part(text="x"), file_part(content, mime_type), file_part(b"", mime_type))
    decoder.message(wire.Message(message_id="m", content=parts), "message", Role.USER)
    assert (decoder.shown == "raw") is is_raw


@pytest.mark.parametrize(
    ("found", "field", "description"),
    [
        (wire.Part(), "message.content[0]", "needs exactly one of text, file, data"),
        (
            wire.Part(text="x", data={}),
            "message.content[0]",
            "needs exactly one of text, file, data",
        ),
        (file_part("*"), "message.content[0].file.bytes", "is not base64"),
        (
            wire.Part(file={"fileWithUri": 1}),
            "message.content[0].file.fileWithUri",
            "expected string, got integer",
        ),
    ],
)
def test_what_is_no_part_is_refused(found: wire.Part, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        part_of(found)
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == (field, description)


# --- tasks and events -------------------------------------------------------------------------


def test_a_time_that_cannot_be_read_is_dropped() -> None:
    def timestamp_of(text: str) -> str | None:
        status = wire.TaskStatus(state=2, timestamp=text)
        return DECODER.task(wire.Task(id="t", status=status)).status.timestamp

    assert timestamp_of("2025-08-01T12:00:00+02:00") == "2025-08-01T10:00:00.000Z"
    assert timestamp_of("2025-08-01T10:00:00.123456Z") == "2025-08-01T10:00:00.123Z"
    assert timestamp_of("yesterday") is None


def test_an_update_without_a_context_is_in_that_of_its_task() -> None:
    update = wire.TaskStatusUpdateEvent(task_id="t", status=STATUS, final=True)
    read = DECODER.payload(wire.StreamResponse(status_update=update)).status_update
    assert read is not None
    assert read.context_id == "t"


@pytest.mark.parametrize(
    ("frame", "place"),
    [
        (wire.StreamResponse(), ""),
        (
            wire.StreamResponse(
                task=wire.Task(id="t", status=STATUS), message=wire.Message(content=CONTENT)
            ),
            "",
        ),
        (wire.StreamResponse(task=wire.Task(status=STATUS)), "task.id"),
        (wire.StreamResponse(task=wire.Task(id="t")), "task.status"),
        (
            wire.StreamResponse(
                task=wire.Task(id="t", status=STATUS, history=(wire.Message(message_id="m"),))
            ),
            "task.history[0].content",
        ),
        (wire.StreamResponse(message=wire.Message(message_id="m")), "message.content"),
        (
            wire.StreamResponse(status_update=wire.TaskStatusUpdateEvent(status=STATUS)),
            "statusUpdate.taskId",
        ),
        (
            wire.StreamResponse(status_update=wire.TaskStatusUpdateEvent(task_id="t")),
            "statusUpdate.status",
        ),
        (
            wire.StreamResponse(artifact_update=wire.TaskArtifactUpdateEvent()),
            "artifactUpdate.taskId",
        ),
        (
            wire.StreamResponse(artifact_update=wire.TaskArtifactUpdateEvent(task_id="t")),
            "artifactUpdate.artifact",
        ),
        (
            wire.StreamResponse(
                artifact_update=wire.TaskArtifactUpdateEvent(
                    task_id="t", artifact=wire.Artifact(artifact_id="a")
                )
            ),
            "artifactUpdate.artifact.parts",
        ),
    ],
)
def test_what_is_missing_is_named(frame: wire.StreamResponse, place: str) -> None:
    assert place_of_refusal(frame) == place


def test_no_answer_is_lost_for_its_parts() -> None:
    file: dict[str, object] = {"fileWithBytes": "no base64!"}
    artifact = wire.Artifact(parts=(wire.Part(text="x"), wire.Part(file=file), wire.Part()))
    task = AnswerDecoder(None).task(
        wire.Task(id="t", status=STATUS, artifacts=(artifact,), history=(wire.Message(),))
    )
    (read,) = task.artifacts
    assert (read.artifact_id, [part.kind for part in read.parts]) == ("idx-0", ["text", "data"])
    assert task.history[0].parts == (Part(text=""),)
