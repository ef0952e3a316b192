"""Webhooks: registering them, and telling a client what it has registered.

Whose task it is and what the caller may do with it has been settled before. What is secret about a
webhook is never shown again, to nobody (Q-17).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from dragoman.clock import Clock
from dragoman.dialects.registry import webhook_dialect
from dragoman.errors import ConflictError, InvalidParamsError, TaskNotFoundError
from dragoman.model.operations import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
)
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.server.page_tokens import decode_page_token, encode_page_token
from dragoman.server.settings import WebhookSettings
from dragoman.service.service import Call
from dragoman.stores.base import Position, Scope, TaskQuery
from dragoman.stores.webhooks import (
    NewWebhook,
    Webhook,
    WebhookKey,
    WebhookPosition,
    WebhookStore,
)

__all__ = ("Webhooks", "placed")

_Check = Callable[[TaskPushNotificationConfig], Awaitable[str]]
_Forget = Callable[[WebhookKey], Awaitable[None]]


class Webhooks:
    """The webhooks of the tasks of this server.

    Those who register at the same moment may exceed the numbers by as many as they are.

    Args:
        check: checks where a webhook is and what it asks for; returns its host.
        forget: breaks off what is on its way to a webhook that was removed.
        max_id_length: characters in the id of a webhook.
    """

    def __init__(
        self,
        *,
        store: WebhookStore,
        clock: Clock,
        check: _Check,
        forget: _Forget,
        settings: WebhookSettings,
        max_id_length: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._check = check
        self._forget = forget
        self._settings: Final = settings
        self._max_id_length: Final = max_id_length

    async def checked(
        self, config: TaskPushNotificationConfig, call: Call, task_id: str = ""
    ) -> NewWebhook:
        """Return a webhook as it can be registered; where, ``placed`` will say.

        Args:
            task_id: the task it is for, "" for one that is yet to be made.

        Raises:
            InvalidParamsError: it cannot be called, or is one too many.
        """
        if len(config.id) > self._max_id_length:
            raise InvalidParamsError.of("id", f"has more than {self._max_id_length} characters")
        await self._check_number(config, call, task_id)
        return NewWebhook(
            config=config,
            dialect=call.dialect,
            host=await self._check(config),
            created_ms=self._clock.now_ms(),
            wants=self._settings.push_events,
        )

    async def recognised(
        self, task_id: str, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        """Return a webhook with the id under which the task has the same one already, if it has.

        Some clients name their webhook in every message, without an id: that is one webhook.
        """
        if config.id:
            return config
        most = self._settings.max_push_configs_per_task
        for known in await self._store.of_task(task_id, after=None, limit=most):
            same = replace(known.new.config, id="", task_id=config.task_id, tenant=config.tenant)
            if same == config:
                return replace(config, id=known.key.id)
        return config

    async def create(
        self, task_id: str, config: TaskPushNotificationConfig, call: Call
    ) -> TaskPushNotificationConfig:
        """Register a webhook at a task that there is, and return it as it is shown.

        Raises:
            InvalidParamsError: it cannot be registered.
            TaskNotFoundError: the task was removed meanwhile.
        """
        new = await self.checked(config, call, task_id)
        return _shown((await self.put(task_id, new)).new.config)

    async def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register a webhook that was checked at a task that there is."""
        shown_id = new.config.task_id or task_id
        named = placed(new, task_id, shown_id=shown_id, fresh_id=self._clock.new_id())
        try:
            return await self._store.put(task_id, named)
        except ConflictError:
            raise TaskNotFoundError(shown_id) from None

    async def get(
        self, task_id: str, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> TaskPushNotificationConfig:
        """Return a webhook.

        Raises:
            TaskNotFoundError: there is none such (R-3.1.8-2).
        """
        found = await self._store.get(WebhookKey(task_id, request.id))
        if found is None and call.ends_at_stops and request.id == request.task_id:
            found = await self._unnamed(task_id)
        if found is None:
            raise TaskNotFoundError(request.task_id)
        return _shown(found.new.config)

    async def list(
        self, task_id: str, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return a page of the webhooks of a task, oldest first (R-3.1.9-3, R-3.1.9-4)."""
        # 0.x has no pages in JSON: all are shown then, and they are not many.
        most = self._settings.max_push_configs_per_task
        usual = most if call.ends_at_stops else DEFAULT_PAGE_SIZE
        size = min(request.page_size, MAX_PAGE_SIZE) or usual
        # A token is tied to its list as those of tasks are; this is the list of one task.
        tie = TaskQuery(
            scope=Scope(call.tenant, call.owner), context_id=f"webhooks of {task_id}", limit=size
        )
        after: WebhookPosition | None = None
        if request.page_token:
            place = decode_page_token(tie, request.page_token)
            after = WebhookPosition(place.status_at_ms, place.task_id)
        found = await self._store.of_task(task_id, after=after, limit=size + 1)
        token = ""
        if len(found) > size:
            last = found[size - 1].position
            token = encode_page_token(tie, Position(last.created_ms, last.id))
        return ListTaskPushNotificationConfigsResponse(
            configs=tuple(_shown(webhook.new.config) for webhook in found[:size]),
            next_page_token=token,
        )

    async def delete(self, task_id: str, webhook_id: str) -> bool:
        """Remove a webhook, if there is one: nothing is sent to it from now on (R-3.1.10-4)."""
        key = WebhookKey(task_id, webhook_id)
        was_there = await self._store.remove(key)
        await self._forget(key)
        return was_there

    async def _unnamed(self, task_id: str) -> Webhook | None:
        """Return the webhook that a client of 0.x means who names none (0.x reference, 5.1)."""
        named = await self._store.get(WebhookKey(task_id, task_id))
        if named is not None:
            return named
        oldest = await self._store.of_task(task_id, after=None, limit=1)
        return oldest[0] if oldest else None

    async def _check_number(
        self, config: TaskPushNotificationConfig, call: Call, task_id: str
    ) -> None:
        key = WebhookKey(task_id, config.id or (task_id if call.ends_at_stops else ""))
        if task_id and key.id and await self._store.get(key) is not None:
            return  # It replaces that one.
        counts = await self._store.count(Scope(call.tenant, call.owner), task_id)
        if counts.of_task >= self._settings.max_push_configs_per_task:
            raise InvalidParamsError.of(
                "taskId", f"names a task with {counts.of_task} push notification configs, the most"
            )
        if counts.of_owner >= self._settings.max_push_configs_per_owner:
            raise InvalidParamsError.of(
                "", f"you have {counts.of_owner} push notification configs, the most; delete some"
            )


def placed(new: NewWebhook, task_id: str, *, shown_id: str, fresh_id: str) -> NewWebhook:
    """Return a webhook with the task it belongs to, and an id if the client gave none.

    Args:
        shown_id: what the client calls the task.
        fresh_id: an id for it. 0.x uses that of the task instead (0.x reference, 5.11): who
            registers twice without a name replaces the first.
    """
    is_old = webhook_dialect(new.dialect).has_final
    own_id = new.config.id or (task_id if is_old else fresh_id)
    return replace(new, config=replace(new.config, id=own_id, task_id=shown_id))


def _shown(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Return what is shown of a webhook: all but its secrets (Q-17)."""
    shown = config.authentication
    return replace(
        config,
        token="",
        authentication=None if shown is None else AuthenticationInfo(scheme=shown.scheme),
    )
