"""The messages of the 0.3 proto."""

import msgspec
import pytest

from dragoman.dialects.v0_3_proto import wire
from dragoman.model.tasks import TaskState


@pytest.mark.parametrize(
    ("message", "members"),
    [
        (wire.Part, "text file data metadata"),
        (wire.Artifact, "artifactId name description parts metadata extensions"),
        (wire.TaskStatus, "state message timestamp"),
        (wire.Task, "id contextId status artifacts history metadata"),
        (wire.TaskStatusUpdateEvent, "taskId contextId status final metadata"),
        (wire.TaskArtifactUpdateEvent, "taskId contextId artifact append lastChunk metadata"),
        (wire.StreamResponse, "task message statusUpdate artifactUpdate"),
        (wire.PushNotificationConfig, "id url token authentication"),
        (wire.AuthenticationInfo, "schemes credentials"),
        (
            wire.SendMessageConfiguration,
            "acceptedOutputModes pushNotification historyLength blocking",
        ),
        (wire.SendMessageRequest, "message configuration metadata"),
        (wire.ListTasksResponse, "tasks nextPageToken totalSize"),
        (wire.ListConfigsResponse, "configs nextPageToken"),
        # parts and referenceTaskIds are only read
        (
            wire.Message,
            "messageId contextId taskId role content parts metadata extensions referenceTaskIds",
        ),
    ],
)
def test_a_message_has_the_members_of_the_proto(message: type[wire.Wire], members: str) -> None:
    fields = msgspec.structs.fields(message)
    assert [field.encode_name for field in fields] == members.split()


@pytest.mark.parametrize("message", wire.Wire.__subclasses__())
def test_an_empty_message_is_an_empty_object(message: type[wire.Wire]) -> None:
    assert msgspec.json.encode(message()) == b"{}"


def test_canceled_has_two_ls() -> None:
    assert wire.STATES[TaskState.CANCELED] == "TASK_STATE_CANCELLED"
    assert wire.STATES[TaskState.WORKING] == "TASK_STATE_WORKING"
    assert set(wire.STATES) == set(TaskState)
