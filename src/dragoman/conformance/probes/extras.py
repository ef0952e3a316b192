"""What an agent may offer besides: webhooks, and a card for those it knows."""

from __future__ import annotations

from typing import Final

from dragoman.conformance.answers import at, objects, text_at
from dragoman.conformance.bench import Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check

__all__ = ("CHECKS",)


async def _push(bench: Bench) -> None:
    task_id = await bench.start()
    config_id = bench.new_id()
    asked = {"taskId": task_id, "id": config_id, "url": bench.webhook}
    answer = await bench.interface.call("CreateTaskPushNotificationConfig", asked)
    if answer.refusal is not None and answer.refusal.name == "InvalidParamsError":
        # R-13.2-5: agents may well look at the address before they take it.
        raise SkippedError(f"the agent does not take {bench.webhook}: name another webhook")
    made = bench.judged(answer, "TaskPushNotificationConfig")
    config_id = text_at(made, "id")
    bench.remember_config(task_id, config_id)
    place = {"taskId": task_id, "id": config_id}
    kept = await bench.result("GetTaskPushNotificationConfig", place, "TaskPushNotificationConfig")
    # R-3.1.8-3
    if at(kept, "url") != bench.webhook:
        raise FailedError(f"the url is kept as {at(kept, 'url')!r}, not as {bench.webhook!r}")
    if config_id not in await _listed(bench, task_id):
        # R-3.1.9-3
        raise FailedError("the list does not have the webhook that was just made")
    for _ in range(2):
        # R-3.1.10-5: doing it again is no mistake.
        deleted = await bench.interface.call("DeleteTaskPushNotificationConfig", place)
        if deleted.refusal is not None:
            raise FailedError(f"deleting is refused with {deleted.refusal}")
    if config_id in await _listed(bench, task_id):
        # R-3.1.10-3
        raise FailedError("the webhook is still listed after it was deleted")


async def _listed(bench: Bench, task_id: str) -> list[object]:
    kind = "ListTaskPushNotificationConfigsResponse"
    page = await bench.result("ListTaskPushNotificationConfigs", {"taskId": task_id}, kind)
    return [config.get("id") for config in objects(at(page, "configs"))]


async def _push_undeclared(bench: Bench) -> None:
    task_id = at(bench.settled, "id") or bench.new_id()
    await bench.refused(
        "ListTaskPushNotificationConfigs",
        {"taskId": task_id},
        "PushNotificationNotSupportedError",
    )


async def _extended(bench: Bench) -> None:
    answer = await bench.interface.call("GetExtendedAgentCard", {})
    if answer.refusal is not None:
        # R-3.1.11-2
        bench.judged_refusal(answer, "ExtendedAgentCardNotConfiguredError")
        return
    bench.judged(answer, "AgentCard")


async def _extended_undeclared(bench: Bench) -> None:
    await bench.refused("GetExtendedAgentCard", {}, "UnsupportedOperationError")


CHECKS: Final = (
    Check(
        id="push.round-trip",
        requirement="R-3.1.7-5",
        expected="a webhook can be made, read, listed and deleted, the last one twice",
        run=_push,
        capability="pushNotifications",
        is_old=True,
    ),
    Check(
        id="push.undeclared",
        requirement="R-3.1.7-1",
        expected="without the capability, webhooks fail with PushNotificationNotSupportedError",
        run=_push_undeclared,
        capability="pushNotifications",
        is_declared=False,
        is_old=True,
    ),
    Check(
        id="extended-card.get",
        requirement="R-3.1.11-2",
        expected="the extended card is a card, or fails with ExtendedAgentCardNotConfiguredError",
        run=_extended,
        capability="extendedAgentCard",
    ),
    Check(
        id="extended-card.undeclared",
        requirement="R-3.1.11-1",
        expected="without the capability, the extended card fails with UnsupportedOperationError",
        run=_extended_undeclared,
        capability="extendedAgentCard",
        is_declared=False,
    ),
)
