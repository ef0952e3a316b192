"""Webhooks of replicas: registered at one, told by whoever lives, and by nobody once removed."""

from collections.abc import Generator
from pathlib import Path

import pytest

from dragoman.model.operations import DeleteTaskPushNotificationConfigRequest
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.stores.webhooks import WebhookKey
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import relay
from tests.support.receivers import ReceiverProcess
from tests.support.server.agency import CALL, send

pytestmark = pytest.mark.anyio


@pytest.fixture
def receiver(tmp_path: Path) -> Generator[ReceiverProcess]:
    """Return a receiver that is down."""
    receiver = ReceiverProcess(tmp_path)
    yield receiver
    receiver.stop()


async def register(member: Member, task_id: str, webhook_id: str, url: str) -> WebhookKey:
    config = TaskPushNotificationConfig(task_id=task_id, id=webhook_id, url=f"{url}/{webhook_id}")
    await member.service.create_task_push_notification_config(config, CALL)
    return WebhookKey(task_id, webhook_id)


async def until_tried(replicas: Replicas, member: Member, key: WebhookKey) -> None:
    async def is_so() -> bool:
        webhook = await member.store.webhooks.get(key)
        return webhook is not None and webhook.attempts > 0

    await replicas.until(is_so)


async def until_quiet(replicas: Replicas, member: Member) -> None:
    async def is_so() -> bool:
        return not (await member.store.webhooks.overview()).pending

    await replicas.until(is_so)


def states_at(receiver: ReceiverProcess, path: str) -> list[str | None]:
    """Return what was told at a path, each notification once."""
    return [state for _, state in dict.fromkeys((r.id, r.state) for r in receiver.requests(path))]


async def test_who_lives_tells_a_webhook_that_another_has_registered(
    replicas: Replicas, receiver: ReceiverProcess
) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    task = await b.send(send())
    assert task.status.state is TaskState.INPUT_REQUIRED
    key = await register(a, task.id, "w", receiver.url)
    await b.send(send("blue", message_id="m-2", task_id=task.id))
    await until_tried(replicas, b, key)
    a.stand_still()
    receiver.start()
    await until_quiet(replicas, b)
    assert states_at(receiver, "/w") == ["WORKING", "COMPLETED"]
    assert (await b.store.webhooks.overview()).dead_letters == 0
    assert b.runtime.push_counters.delivered >= 1


async def test_a_webhook_that_comes_with_its_task_is_told_of_all_when_its_replica_dies(
    replicas: Replicas, receiver: ReceiverProcess
) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    config = TaskPushNotificationConfig(id="w", url=f"{receiver.url}/w")
    task = await a.send(send(webhook=config))
    await until_tried(replicas, b, WebhookKey(task.id, "w"))
    a.stand_still()
    receiver.start()
    await b.send(send("blue", message_id="m-2", task_id=task.id, return_immediately=True))

    async def has_ended() -> bool:
        return states_at(receiver, "/w")[-1:] == ["COMPLETED"]

    await replicas.until(has_ended)
    told = states_at(receiver, "/w")
    assert told == ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]


async def test_what_is_removed_at_one_replica_is_told_by_none(
    replicas: Replicas, receiver: ReceiverProcess
) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    task = await b.send(send())
    gone = await register(b, task.id, "gone", receiver.url)
    kept = await register(b, task.id, "kept", receiver.url)
    await b.send(send("blue", message_id="m-2", task_id=task.id))
    await until_tried(replicas, b, gone)
    await until_tried(replicas, b, kept)
    request = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="gone")
    await a.service.delete_task_push_notification_config(request, CALL)
    receiver.start()
    await until_quiet(replicas, b)
    assert states_at(receiver, "/kept") == ["WORKING", "COMPLETED"]
    assert receiver.requests("/gone") == []
