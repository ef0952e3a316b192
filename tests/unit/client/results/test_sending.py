from itertools import count

import pytest

from dragoman.client.results.sending import SendOptions, request_of
from dragoman.errors import UsageError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig

_ids = count(1)


def made(options: SendOptions, *, is_awaited: bool = True) -> SendMessageRequest:
    return request_of(("hi",), options, lambda: f"id-{next(_ids)}", is_awaited=is_awaited)


@pytest.mark.requirement("R-3.4.2-5")
def test_a_text_alone() -> None:
    request = made({})
    assert request == SendMessageRequest(
        message=Message(
            message_id=request.message.message_id, role=Role.USER, parts=(Part(text="hi"),)
        )
    )
    assert made({}).message.message_id != request.message.message_id


def test_everything_that_can_be_said() -> None:
    push = TaskPushNotificationConfig(url="https://hook.test")
    request = made(
        {
            "skill": "s",
            "task_id": "t",
            "context_id": "c",
            "reference_task_ids": ["r"],
            "metadata": {"k": 1},
            "request_metadata": {"r": 2},
            "message_id": "m",
            "accept": ["text/plain"],
            "history_length": 0,
            "extensions": ["urn:x"],
            "push": push,
        }
    )
    assert request == SendMessageRequest(
        message=Message(
            message_id="m",
            role=Role.USER,
            parts=(Part(text="hi"),),
            task_id="t",
            context_id="c",
            reference_task_ids=("r",),
            metadata={"k": 1, "skillId": "s"},
            extensions=("urn:x",),
        ),
        configuration=SendMessageConfiguration(
            accepted_output_modes=("text/plain",),
            task_push_notification_config=push,
            history_length=0,
        ),
        metadata={"r": 2},
    )


def test_a_message_that_nobody_waits_for() -> None:
    configuration = made({}, is_awaited=False).configuration
    assert configuration == SendMessageConfiguration(return_immediately=True)


def test_nothing_at_all() -> None:
    with pytest.raises(UsageError):
        request_of((), {}, lambda: "m")
