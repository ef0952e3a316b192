"""LocalService: A2AService on the engine.

Only this file knows how an operation reaches a task: through the supervisor while the task is live,
through the store when it is not. A task is looked up by tenant and owner, and by nothing less:
one of somebody else is not found, in the same way as one that never was. Whether the caller may do
this with a task of its own is asked once the task is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.engine.fold import TaskFold
from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    SentBeforeError,
    TaskEndedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import (
    DEFAULT_PAGE_SIZE,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    Empty,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.timestamps import parse_timestamp
from dragoman.server.admission.authorization import Access
from dragoman.server.page_tokens import decode_page_token, encode_page_token
from dragoman.server.tasks.ending import is_ending
from dragoman.server.tasks.inbox import NO_STORE, will_go_on
from dragoman.server.tasks.restoring import document_of
from dragoman.server.tasks.starting import Accepted, MessageIntake, Posted, Sent
from dragoman.server.tasks.streams import Channel, Follower, Hub, SharedTimeout
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.server.webhooks.registrations import Webhooks
from dragoman.service.service import Call, EventStream
from dragoman.stores.base import Position, Scope, StoredTask, TaskQuery, TaskStore
from dragoman.stores.webhooks import NewWebhook

if TYPE_CHECKING:
    from dragoman.server.replicas.remote_tasks import RemoteTasks

__all__ = ("ExtendedCard", "LocalService")

ExtendedCard: TypeAlias = Callable[[Call], Awaitable[AgentCard]]
"""Makes the card for one caller."""

_TRIES: Final = 3
"""How often a message is delivered anew because another replica was faster. Once is the rule: then
the log tells what has become of the message, or who has the task."""

_OUTRUN: Final = "The task was taken over by another server; try again"

_NO_CONFIGURATION = SendMessageConfiguration()
_encode = msgspec.json.Encoder().encode


class LocalService:
    """The agent of this process.

    Args:
        wait_seconds: how long a send waits at most.
        default_wait_seconds: the same, if the caller left it to the server; as long unless given.
        webhooks: those of its tasks; None if it has no push notifications.
    """

    def __init__(
        self,
        *,
        store: TaskStore,
        supervisor: TaskSupervisor,
        sender: MessageIntake,
        hub: Hub,
        wait_seconds: float,
        default_wait_seconds: float | None = None,
        access: Access | None = None,
        extended_card: ExtendedCard | None = None,
        remote_tasks: RemoteTasks | None = None,
        webhooks: Webhooks | None = None,
    ) -> None:
        self._remote_tasks = remote_tasks
        self._store = store
        self._supervisor = supervisor
        self._sender = sender
        self._hub = hub
        self._patience = SharedTimeout(wait_seconds)
        shorter = wait_seconds if default_wait_seconds is None else default_wait_seconds
        self._default_patience = SharedTimeout(min(shorter, wait_seconds))
        self._access = access or Access()
        self._extended_card = extended_card
        self._webhooks = webhooks

    async def send_message(
        self, request: SendMessageRequest, call: Call, *, tries: int = _TRIES
    ) -> TaskDocument | Message:
        """Deliver a message; wait for the task to end or pause unless told to return at once."""
        configuration = request.configuration or _NO_CONFIGURATION
        immediately = configuration.return_immediately
        # What limits the wait for the task; None for no wait.
        patience = None if immediately else self._patience
        if immediately is UNSET:
            patience = self._default_patience
        try:
            sent = await self._send(Operation.SEND_MESSAGE, request, call)
            if isinstance(sent, Message):
                return sent
            if isinstance(sent, Accepted):
                document = await self._outcome(sent, patience)
            else:
                document = await self._outcome_elsewhere(sent, patience)
        except (SentBeforeError, TaskLostError):
            # Another replica was faster; what it has made of the message or the task is known now.
            if self._remote_tasks is None or tries == 1:
                raise UnavailableError(_OUTRUN) from None
            return await self.send_message(request, call, tries=tries - 1)
        return document.with_history(configuration.history_length)

    async def _outcome(self, sent: Accepted, patience: SharedTimeout | None) -> TaskDocument:
        live = sent.live
        if sent.stored is not None:
            await asyncio.shield(sent.stored)
        try:
            if patience is not None:
                # R-3.2.2-1; Q-02: up to a limit, after which the task is returned as it is.
                await patience.wait(sent.settled)
            else:
                # R-3.2.2-4: the task is there once it is durable, which is waited for below.
                sent.settled.cancel()
            return await _durable_document(live)
        except TaskLostError:
            if self._remote_tasks is None or not live.is_stored:
                raise
            # The message is delivered; only what comes of it happens elsewhere.
            stored = await self._load(live.scope, live.task_id)
            return await self._outcome_elsewhere(stored, patience)

    async def _outcome_elsewhere(
        self, sent: Posted | StoredTask, patience: SharedTimeout | None
    ) -> TaskDocument:
        """Return a task that is not live here, once it has ended or paused if that is awaited."""
        stored = sent.stored if isinstance(sent, Posted) else sent
        if self._remote_tasks is None:
            return document_of(stored)
        after = sent.after if isinstance(sent, Posted) else stored.seq
        is_at_work = not (stored.state.is_terminal or stored.state.is_interrupted)
        is_going_on = isinstance(sent, Posted) or is_at_work or will_go_on(stored)
        if patience is not None and is_going_on:
            await patience.wait(self._remote_tasks.settled(stored, after))
        return document_of(await self._load(stored.scope, stored.id))

    async def send_streaming_message(
        self, request: SendMessageRequest, call: Call, *, tries: int = _TRIES
    ) -> EventStream:
        """Deliver a message and follow what comes of it."""
        history_length = (request.configuration or _NO_CONFIGURATION).history_length
        until_pause = not call.outlasts_pauses
        try:
            sent = await self._send(Operation.SEND_STREAMING_MESSAGE, request, call)
            if isinstance(sent, Message):
                return self._lone_frame(EventDocument(0, b'{"message":' + _encode(sent) + b"}"))
            if isinstance(sent, Posted):
                stored = await self._load(sent.stored.scope, sent.stored.id)
                return await self._follow_stored(
                    stored,
                    until_pause=until_pause,
                    history_length=history_length,
                    start=sent.after + 1,
                )
            if isinstance(sent, StoredTask):
                return await self._follow_stored(
                    sent,
                    until_pause=until_pause,
                    cursor=call.cursor,
                    history_length=history_length,
                    # The answer may be this message: then the stop before it is not its own.
                    start=sent.seq + 1 if will_go_on(sent) else None,
                )
            sent.settled.cancel()
            return await self._follow(
                sent.live,
                until_pause=until_pause,
                # A cursor counts only for a message that was sent before: this is a reconnect then.
                cursor=call.cursor if sent.is_known else None,
                history_length=history_length,
                stored=sent.stored,
            )
        except (SentBeforeError, TaskLostError):
            # As for ``send_message``.
            if self._remote_tasks is None or tries == 1:
                raise UnavailableError(_OUTRUN) from None
            return await self.send_streaming_message(request, call, tries=tries - 1)

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        """Return a task as it is now."""
        task = await self._authorized(Operation.GET_TASK, request.id, call)
        if not isinstance(task, StoredTask):
            if task.backlog:
                self._check_store()
            try:
                return (await _durable_document(task)).with_history(request.history_length)
            except (SentBeforeError, TaskLostError):
                task = await self._load(task.scope, task.task_id)
        return document_of(task).with_history(request.history_length)

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        """Return one page of the caller's tasks."""
        await self._access.check(Operation.LIST_TASKS, call)
        size = request.page_size or DEFAULT_PAGE_SIZE
        after = request.status_timestamp_after
        query = TaskQuery(
            scope=_scope(call),
            context_id=request.context_id,
            state=request.status,
            status_at_or_after_ms=None if after is None else parse_timestamp(after),
            limit=size,
        )
        if request.page_token:
            query = replace(query, after=decode_page_token(query, request.page_token))
        page = await self._store.list_tasks(query)
        token = ""
        if page.has_more:
            last = page.tasks[-1]
            token = encode_page_token(query, Position(last.status_at_ms, last.id))
        return TaskPage(
            tasks=tuple(_list_view(stored, request) for stored in page.tasks),
            next_page_token=token,
            page_size=size,
            total_size=page.total,
        )

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        """Cancel a task and return it."""
        try:
            return await self._cancel(request, call)
        except (SentBeforeError, TaskLostError):
            if self._remote_tasks is None:
                raise UnavailableError(_OUTRUN) from None
            return await self._cancel(request, call)

    async def _cancel(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        task = await self._authorized(Operation.CANCEL_TASK, request.id, call)
        if isinstance(task, StoredTask) and task.state.is_terminal:
            raise TaskNotCancelableError(task.id, task.state.value)  # R-3.1.5-3
        if (
            isinstance(task, StoredTask)
            and self._remote_tasks is not None
            and not self._remote_tasks.is_free(task)
        ):
            await self._remote_tasks.cancel(task)
            return document_of(await self._load(task.scope, task.id))
        live = await self._supervisor.adopt(task) if isinstance(task, StoredTask) else task
        self._check_store()
        await self._supervisor.cancel(live)
        return live.document()

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> EventStream:
        """Follow a task that has not ended, or one that the caller has a cursor for."""
        task = await self._authorized(Operation.SUBSCRIBE_TO_TASK, request.id, call)
        until_pause = call.ends_at_stops and not call.outlasts_pauses
        if isinstance(task, StoredTask):
            has_cursor = call.cursor is not None and 1 <= call.cursor <= task.seq
            if task.state.is_terminal and not has_cursor and not call.ends_at_stops:
                # R-3.1.6-3.
                raise TaskEndedError(task.id, task.state.value, "; use GetTask to read it")
            return await self._follow_stored(task, until_pause=until_pause, cursor=call.cursor)
        return await self._follow(task, until_pause=until_pause, cursor=call.cursor)

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, call: Call
    ) -> TaskPushNotificationConfig:
        """Register a webhook."""
        webhooks = self._offered_webhooks()
        if not request.task_id:
            raise InvalidParamsError.of("taskId", "is required")
        operation = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
        task = await self._authorized(operation, request.task_id, call)
        return await webhooks.create(await _stored_id(task), request, call)

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> TaskPushNotificationConfig:
        """Return a webhook, but for its secrets."""
        webhooks = self._offered_webhooks()
        operation = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        task = await self._authorized(operation, request.task_id, call)
        return await webhooks.get(await _stored_id(task), request, call)

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return the webhooks of a task, but for their secrets."""
        webhooks = self._offered_webhooks()
        operation = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
        task = await self._authorized(operation, request.task_id, call)
        return await webhooks.list(await _stored_id(task), request, call)

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, call: Call
    ) -> Empty:
        """Remove a webhook, if there is one (R-3.1.10-5)."""
        webhooks = self._offered_webhooks()
        operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
        task = await self._authorized(operation, request.task_id, call)
        await webhooks.delete(await _stored_id(task), request.id)
        return Empty()

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, call: Call
    ) -> AgentCard:
        """Return the card of what this caller may use.

        Without an authenticator there is none, whatever the card promises (R-3.1.11-2).
        """
        del request
        if self._extended_card is None:
            raise ExtendedAgentCardNotConfiguredError
        # R-13.3-10
        await self._access.check(Operation.GET_EXTENDED_AGENT_CARD, call)
        return await self._extended_card(call)

    async def origin_of(self, task_id: str, call: Call) -> str:
        """Return the name of the dialect in which a task was begun; "" if there is no such task."""
        try:
            task = await self._find(_scope(call), task_id)
        except TaskNotFoundError:
            return ""
        return task.origin_dialect if isinstance(task, StoredTask) else task.record.origin_dialect

    async def has_ended(self, task_id: str, call: Call) -> bool:
        """Tell whether a task of the caller's, named by its own id, has ended."""
        return await self._sender.has_ended(_scope(call), task_id)

    async def _send(self, operation: Operation, request: SendMessageRequest, call: Call) -> Sent:
        """Deliver a message, with the webhook that comes with it, if any."""
        await self._authorize_send(operation, request, call)
        configuration = request.configuration
        if configuration is None or configuration.task_push_notification_config is None:
            return await self._sender.send(request, call)
        # Checked before anything is decided about the message, as above.
        config = replace(configuration.task_push_notification_config, task_id="")
        task_id = await self._task_of_send(request, call)
        webhooks = self._offered_webhooks()
        if not task_id:
            return await self._sender.send(request, call, await webhooks.checked(config, call))
        config = await webhooks.recognised(task_id, config)
        webhook = await webhooks.checked(config, call, task_id)
        return await self._send_to(task_id, request, call, webhook)

    async def _send_to(
        self, task_id: str, request: SendMessageRequest, call: Call, webhook: NewWebhook
    ) -> Sent:
        """Deliver a message to a task that there is, and tell its webhook of what comes of it."""
        named = replace(webhook, config=replace(webhook.config, task_id=call.alias or task_id))
        webhooks = self._offered_webhooks()
        registered = await webhooks.put(task_id, named)
        try:
            return await self._sender.send(request, call)
        except A2AError:
            if registered.new.created_ms == webhook.created_ms:
                # It is new, and the client hears of an error: then it has registered nothing.
                await webhooks.delete(task_id, registered.key.id)
            raise

    async def _task_of_send(self, request: SendMessageRequest, call: Call) -> str:
        """Return the task that a message goes on with, "" if it begins one, or will be refused."""
        name = call.alias or request.message.task_id
        if not name:
            return ""
        try:
            return await _stored_id(await self._find(_scope(call), name))
        except TaskNotFoundError:
            return ""

    def _offered_webhooks(self) -> Webhooks:
        if self._webhooks is None:
            raise PushNotificationNotSupportedError  # R-3.3.4-2
        return self._webhooks

    async def _authorize_send(
        self, operation: Operation, request: SendMessageRequest, call: Call
    ) -> None:
        """Ask before anything is decided about a message: nothing may come in between then."""
        if self._access.is_restricted:
            skill_id = await self._sender.skill_for(request, call)
            await self._access.check(operation, call, skill_id)

    def _check_store(self) -> None:
        """Raise UnavailableError rather than wait for a store that is known to be away."""
        if not self._store.is_available:
            raise UnavailableError(NO_STORE)

    async def _authorized(
        self, operation: Operation, task_id: str, call: Call
    ) -> LiveTask | StoredTask:
        """Return a task of the caller's with which it may do this (R-13.1-2)."""
        task = await self._find(_scope(call), task_id)
        if not self._access.is_restricted:
            return task
        record = task if isinstance(task, StoredTask) else task.record
        await self._access.check(operation, call, record.skill_id)
        # It may have ended while the policy was asked.
        return await self._find(_scope(call), task_id)

    async def _find(self, scope: Scope, task_id: str) -> LiveTask | StoredTask:
        """Return a task: live, or from the store when it has ended or is put aside."""
        live = await self._supervisor.find_current(scope, task_id)
        if live is not None:
            return live
        stored = await self._store.load(scope, task_id)
        if stored is None:
            return await self._find_alias(scope, task_id)
        return await self._supervisor.find_current(scope, task_id) or stored

    async def _load(self, scope: Scope, task_id: str) -> StoredTask:
        """Return a task as the store has it; not found only if it was removed meanwhile."""
        stored = await self._store.load(scope, task_id)
        if stored is None:
            raise TaskNotFoundError(task_id)
        return stored

    async def _find_alias(self, scope: Scope, alias: str) -> LiveTask | StoredTask:
        """Return the task that its client calls by this id; any version may ask for it so."""
        task_id = await self._supervisor.find_called(scope, alias)
        if task_id is None:
            raise TaskNotFoundError(alias)
        return await self._find(scope, task_id)

    async def _follow(
        self,
        live: LiveTask,
        *,
        until_pause: bool,
        cursor: int | None,
        history_length: int | None = None,
        stored: asyncio.Future[None] | None = None,
    ) -> EventStream:
        """Follow a live task: from the cursor if it has one that is known, else from now.

        ``stored`` is waited for after the task has been looked at, so that nothing falls between.
        """
        if cursor is not None and 1 <= cursor <= live.standing.seq:
            # Joined before anything is waited for: should the task go to another replica meanwhile,
            # its followers are kept, and who came later would hear nothing any more.
            follower = Follower(live.channel, first=None, cursor=cursor, until_pause=until_pause)
            try:
                if stored is not None:
                    await asyncio.shield(stored)
                await live.durable()
                context_id = live.record.context_id
                follower.begin_with(await self._task_at(live.task_id, context_id, cursor))
            except BaseException:
                await follower.aclose()
                raise
            return follower
        document = live.document().with_history(history_length)
        seq = live.standing.seq
        # Joined before the commit is waited for: whatever comes after it is then at hand.
        first = _task_frame(seq, document)
        follower = Follower(live.channel, first=first, cursor=seq, until_pause=until_pause)
        is_delivered = stored is None
        try:
            if stored is not None:
                await asyncio.shield(stored)
                is_delivered = True
            await live.durable()
        except BaseException as error:
            await follower.aclose()
            is_elsewhere = isinstance(error, SentBeforeError | TaskLostError) and live.is_stored
            if not (is_elsewhere and is_delivered):
                raise
            # As in ``_outcome``.
            task = await self._load(live.scope, live.task_id)
            return await self._follow_stored(
                task, until_pause=until_pause, cursor=cursor, history_length=history_length
            )
        return follower

    async def _follow_stored(
        self,
        stored: StoredTask,
        *,
        until_pause: bool,
        cursor: int | None = None,
        history_length: int | None = None,
        start: int | None = None,
    ) -> EventStream:
        """Follow a task that is not live here: where it is, if others have it; else it is adopted.

        ``start``: stops before this event do not count.
        """
        if stored.state.is_terminal:
            return await self._revisit(stored, cursor)
        if self._remote_tasks is None:
            live = await self._supervisor.adopt(stored)
            return await self._follow(
                live, until_pause=until_pause, cursor=cursor, history_length=history_length
            )
        if cursor is not None and 1 <= cursor <= stored.seq:
            first = await self._task_at(stored.id, stored.context_id, cursor)
        else:
            cursor = stored.seq
            first = _task_frame(cursor, document_of(stored).with_history(history_length))
        live = self._supervisor.find(stored.scope, stored.id)
        channel = self._remote_tasks.channel(stored) if live is None else live.channel
        return Follower(channel, first=first, cursor=cursor, until_pause=until_pause, start=start)

    async def _revisit(self, stored: StoredTask, cursor: int | None) -> EventStream:
        """Show a task that has ended: from the cursor on if it is known, else as it is."""
        if cursor is None or not 1 <= cursor <= stored.seq:
            return self._lone_frame(_task_frame(stored.seq, document_of(stored)))
        first = await self._task_at(stored.id, stored.context_id, cursor)
        channel = Channel(
            self._hub,
            lambda after, limit: self._store.read_events(stored.id, after=after, limit=limit),
            seq=stored.seq,
            ended_at=stored.seq,
        )
        return Follower(channel, first=first, cursor=cursor)

    async def _task_at(self, task_id: str, context_id: str, seq: int) -> EventDocument:
        """Return the frame of the task as it was after event ``seq``."""
        entries = await self._store.read_entries(task_id, until=seq)
        if not entries:
            raise TaskNotFoundError(task_id)  # It was removed, for its age, a moment ago.
        fold = TaskFold(task_id, context_id)
        fold.replay(entries)
        return _task_frame(seq, fold.document())

    def _lone_frame(self, frame: EventDocument) -> EventStream:
        """Return the stream of one frame."""
        channel = Channel(self._hub, _no_log, seq=frame.seq, ended_at=frame.seq or 1)
        return Follower(channel, first=frame, cursor=frame.seq or 1)


async def _stored_id(task: LiveTask | StoredTask) -> str:
    """Return the id of a task that the store knows of by then."""
    if isinstance(task, StoredTask):
        return task.id
    if not task.is_stored:
        await task.durable()
    return task.task_id


async def _no_log(after: int, limit: int) -> tuple[EventDocument, ...]:
    del after, limit
    return ()


async def _durable_document(live: LiveTask) -> TaskDocument:
    """Return the task as it is now, once that is durable."""
    while is_ending(live):
        await live.durable()
    document = live.document()
    if live.backlog:
        await live.durable()
    return document


def _task_frame(seq: int, document: TaskDocument) -> EventDocument:
    return EventDocument(seq, b'{"task":' + document.json() + b"}")


def _scope(call: Call) -> Scope:
    return Scope(call.tenant, call.owner)


def _list_view(stored: StoredTask, request: ListTasksRequest) -> TaskDocument:
    document = document_of(stored).with_history(request.history_length)
    return document if request.include_artifacts else document.without_artifacts()
