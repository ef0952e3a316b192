"""MessageIntake: what happens to a message before anybody waits for its answer."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman import telemetry
from dragoman.clock import Clock
from dragoman.engine.machine import NO_MORE_MESSAGES
from dragoman.errors import (
    InvalidParamsError,
    SentBeforeError,
    StoreError,
    TaskEndedError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.tasks.ending import is_ending
from dragoman.server.tasks.idempotency import KnownSend, Sends, digest_of_secret
from dragoman.server.tasks.inbox import NO_STORE
from dragoman.server.tasks.restoring import question_of
from dragoman.server.tasks.secrets import TaskSecrets, concealed
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.server.webhooks.registrations import placed
from dragoman.service.service import Call
from dragoman.service.worker import Plan, Worker
from dragoman.stores.base import NewTask, Scope, SendRecord, StoredTask, TaskStore
from dragoman.stores.shared.reporting import reported
from dragoman.stores.webhooks import NewWebhook

if TYPE_CHECKING:
    from dragoman.server.replicas.remote_tasks import RemoteTasks

__all__ = ("Accepted", "MessageIntake", "Posted", "Sent")


class Accepted(Struct, frozen=True):
    """The message belongs to a live task; ``settled`` is done when its turn has ended or paused.

    ``stored`` must be waited for before the message is acknowledged; others may wait for it too.
    Nothing has happened to the task since the message was accepted, so this is the moment to look
    at it.
    ``is_known``: the same message was sent before and nothing new was begun.
    """

    live: LiveTask
    settled: asyncio.Future[None]
    stored: asyncio.Future[None] | None = None
    is_known: bool = False


class Posted(Struct, frozen=True):
    """The message is, durably, in the inbox of a task that another replica holds.

    ``after``: the task ends or pauses for it with an event beyond this number.
    """

    stored: StoredTask
    after: int


Sent = Message | Accepted | Posted | StoredTask
"""A direct answer; a task at work here, or elsewhere; or a task that is not at work here, for a
message that was sent before."""


class MessageIntake:
    """Takes messages in: new ones, further ones, and those it has seen before.

    Args:
        elsewhere: the tasks of other replicas; None for a store that this process has to itself.
    """

    def __init__(
        self,
        *,
        worker: Worker,
        store: TaskStore,
        supervisor: TaskSupervisor,
        sends: Sends,
        clock: Clock,
        remote_tasks: RemoteTasks | None = None,
        task_secrets: TaskSecrets | None = None,
    ) -> None:
        self._remote_tasks = remote_tasks
        self._task_secrets = task_secrets or TaskSecrets()
        self._worker = worker
        self._store = store
        self._supervisor = supervisor
        self._sends = sends
        self._clock = clock

    async def send(
        self, request: SendMessageRequest, call: Call, webhook: NewWebhook | None = None
    ) -> Sent:
        """Deliver a message once, however often it is sent.

        Args:
            webhook: registered with the task if one is begun. An answer without a task has nothing
                to tell later on, and needs none.

        Raises:
            SentBeforeError: another replica has just got the same message; try again. So do those
                who wait for a task that was begun.
        """
        scope = Scope(call.tenant, call.owner)
        record: SendRecord | None = None
        if request.message.message_id:
            record, known = await self._sends.recall(scope, request)
            if known is not None:
                return await self._again(scope, known)
        else:
            request = _with_message(request, message_id=self._clock.new_id())
        if call.alias:
            known_id = await self._known_as(scope, call.alias, call)
            if (begun := self._under_way(record, request)) is not None:
                return await self._again(scope, begun)
            request = _with_message(request, task_id=known_id or "")
        if request.message.task_id:
            return await self._continue(scope, request, call, record)
        plan = self._worker.plan(request, call.scopes)
        # R-3.4.1-1, R-3.4.1-3: a context of the client's is kept as it is, a missing one is made.
        context_id = request.message.context_id or self._clock.new_id()
        if plan.is_direct and not call.always_task:
            return await self._answer(plan, request, context_id, scope.owner, record)
        return self._begin(scope, plan, request, call, context_id, record, webhook)

    async def skill_for(self, request: SendMessageRequest, call: Call) -> str:
        """Return the skill that a message is for; nothing is delivered.

        Raises what ``send`` would: TaskNotFoundError, or what is wrong with a new message.
        """
        scope = Scope(call.tenant, call.owner)
        name = call.alias or request.message.task_id
        known_id = await self._known_as(scope, name, call) if name else None
        if known_id is None:
            if request.message.task_id and not call.alias:
                raise TaskNotFoundError(name)
            return self._worker.plan(request, call.scopes).skill_id
        live = self._supervisor.find(scope, known_id)
        task = live.record if live is not None else await self._store.load(scope, known_id)
        if task is None:
            raise TaskNotFoundError(name)
        return task.skill_id

    def _begin(
        self,
        scope: Scope,
        plan: Plan,
        request: SendMessageRequest,
        call: Call,
        context_id: str,
        record: SendRecord | None,
        webhook: NewWebhook | None,
    ) -> Accepted:
        task_id = self._clock.new_id()
        send = None if record is None else replace(record, task_id=task_id)
        new = NewTask(
            scope=scope,
            context_id=context_id,
            skill_id=plan.skill_id,
            origin_dialect=call.dialect,
            created_ms=self._clock.now_ms(),
            alias=call.alias,
            webhook=webhook
            and placed(
                webhook,
                task_id,
                shown_id=call.alias or task_id,
                fresh_id=self._clock.new_id(),
            ),
        )
        live = self._supervisor.begin(
            task_id, new, _errand(request, call, task_id, context_id), send
        )
        if send is not None:
            live.epilogue.append(self._sends.begin_task(send, task_id))
        return Accepted(live, live.settled())

    async def _known_as(self, scope: Scope, name: str, call: Call) -> str | None:
        """Return the id of the task that a caller means, by its id or by what the caller calls it.

        0.x reference, 5.5: an id that is neither is the caller's to give. So is one whose task has
        ended, if the caller begins anew then.
        """
        known_id = await self._found_as(scope, name)
        if known_id and call.begins_anew and await self.has_ended(scope, known_id):
            return None
        return known_id

    async def _found_as(self, scope: Scope, name: str) -> str | None:
        if self._supervisor.find(scope, name) or await self._store.load(scope, name):
            return name
        return await self._supervisor.find_called(scope, name)

    async def has_ended(self, scope: Scope, task_id: str) -> bool:
        """Tell whether there is a task of this very id, and it has ended."""
        live = await self._supervisor.find_current(scope, task_id)
        if live is not None:
            if live.failure is not None:
                raise live.failure  # Its end may be what was lost.
            return live.standing.has_ended
        stored = await self._store.load(scope, task_id)
        return stored is not None and stored.state.is_terminal

    async def _continue(
        self, scope: Scope, request: SendMessageRequest, call: Call, record: SendRecord | None
    ) -> Sent:
        message = request.message
        live = await self._supervisor.find_current(scope, message.task_id)
        if live is None:
            stored = await self._store.load(scope, message.task_id)
            if stored is None:
                known_id = await self._found_as(scope, message.task_id)
                if known_id is None:
                    raise TaskNotFoundError(message.task_id)  # R-3.1.1-3
                return await self._continue(
                    scope, _with_message(request, task_id=known_id), call, record
                )
            _check_context(message, stored.context_id)
            if stored.state.is_terminal:
                raise await self._refusal(stored.id, stored.state, record)
            # Asked again: it may have come to life while the store was looked at.
            live = self._supervisor.find(scope, stored.id)
            # Taken up here for a message is what waits, and nobody has. What should be at work, and
            # is not, is taken over by a sweep, which knows how often that was tried already.
            if (
                live is None
                and self._remote_tasks is not None
                and not (stored.state.is_interrupted and self._remote_tasks.is_free(stored))
            ):
                return await self._post(self._remote_tasks, stored, request, call, record)
            live = live or await self._supervisor.adopt(stored)
            if is_ending(live):
                # Somebody else was faster to end it. It is looked at again once that is durable.
                return await self._continue(scope, request, call, record)
        context_id = live.record.context_id
        _check_context(message, context_id)
        self._worker.check_scopes(live.record.skill_id, call.scopes)
        visible, known, sealed = self._seal(live.record.skill_id, live.question, request, record)
        send = None if known is None else replace(known, task_id=message.task_id)
        errand = _errand(visible, call, message.task_id, context_id, sealed)
        if send is not None and await self._has_come(live, errand.message, send):
            raise SentBeforeError(send.key.message_id)
        if self._supervisor.find(scope, message.task_id) is not live or is_ending(live):
            # It was put aside, let go of, or has ended, meanwhile.
            return await self._continue(scope, request, call, record)
        if (begun := self._under_way(record, request)) is not None:
            return await self._again(scope, begun)
        return self._deliver(live, errand, send)

    def _under_way(
        self, record: SendRecord | None, request: SendMessageRequest
    ) -> KnownSend | None:
        """Return the same send if it was faster, while this one looked for its task."""
        return None if record is None else self._sends.under_way(record, request)

    def _deliver(self, live: LiveTask, errand: Delivery, send: SendRecord | None) -> Accepted:
        delivery = self._supervisor.deliver(live, errand, send)
        if send is not None:
            end = self._sends.begin_task(send, live.task_id, delivery.stored)
            live.epilogue.append(end)
        return Accepted(live, delivery.settled, delivery.stored)

    async def _has_come(self, live: LiveTask, message: Message, send: SendRecord) -> bool:
        """Tell whether a message came by another replica while this one waited here."""
        if self._remote_tasks is None or not live.has_had(message):
            return False
        return await self._is_known(send)

    async def _post(
        self,
        remote_tasks: RemoteTasks,
        stored: StoredTask,
        request: SendMessageRequest,
        call: Call,
        record: SendRecord | None,
    ) -> Posted:
        """Leave a message for a task that another replica holds, or that one has to take over."""
        self._worker.check_scopes(stored.skill_id, call.scopes)
        self._supervisor.check()
        request, record, sealed = self._seal(stored.skill_id, question_of(stored), request, record)
        send = None if record is None else replace(record, task_id=stored.id)
        errand = _errand(request, call, stored.id, stored.context_id, sealed)
        errand = replace(errand, is_answer=stored.state.is_interrupted)
        placed = await remote_tasks.post(stored, encode(errand), send)
        if not placed.n:
            raise await self._refusal(stored.id, placed.state, record)
        # One that is no answer waits for its turn. A pause before that ends the wait, and may have
        # come since the task was looked at.
        return Posted(stored, placed.seq if errand.is_answer else stored.seq)

    def _seal(
        self,
        skill_id: str,
        asked: Message | None,
        request: SendMessageRequest,
        record: SendRecord | None,
    ) -> tuple[SendMessageRequest, SendRecord | None, bytes]:
        """Return what of a message may be seen, and what may not, if it answers a secret question.

        Raises what is wrong with it.

        It is sealed before it leaves this process, be it for the store or for another replica.
        """
        message = request.message
        if not self._worker.examine_answer(skill_id, asked, request):
            return request, record, b""
        sealed = self._task_secrets.seal(message.task_id, message)
        record = record and replace(record, digest=digest_of_secret(request))
        return concealed(request), record, sealed

    async def _refusal(
        self, task_id: str, state: TaskState, record: SendRecord | None
    ) -> TaskEndedError | SentBeforeError:
        """Return why a task that has ended does not take a message (R-3.1.1-2).

        It may have ended just because another replica has delivered the same one to it.
        """
        if self._remote_tasks is not None and record is not None and await self._is_known(record):
            return SentBeforeError(record.key.message_id)
        return TaskEndedError(task_id, state.value, NO_MORE_MESSAGES)

    async def _is_known(self, record: SendRecord) -> bool:
        """Tell whether another replica has recorded the same send."""
        known = await self._store.find_send(record.key, record.since_ms)
        return known is not None and known.digest == record.digest

    async def _answer(
        self,
        plan: Plan,
        request: SendMessageRequest,
        context_id: str,
        owner: str,
        record: SendRecord | None,
    ) -> Message:
        if record is None:
            return await self._supervisor.answer(plan, request, context_id, owner)
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        end = self._sends.begin_reply(record, reply)
        try:
            answer = await self._supervisor.answer(plan, request, context_id, owner)
            await self._remember(replace(record, reply=msgspec.json.encode(answer)))
        except BaseException as error:
            if isinstance(error, Exception):
                reply.set_exception(error)
                reply.exception()  # Nobody else may be waiting; that is no fault.
            else:
                reply.cancel()
            raise
        finally:
            end()
        reply.set_result(answer)
        return answer

    async def _remember(self, record: SendRecord) -> None:
        try:
            await reported(partial(self._store.remember_send, record))
        except SentBeforeError:
            raise
        except StoreError:
            raise UnavailableError(NO_STORE) from None

    async def _again(self, scope: Scope, known: KnownSend) -> Sent:
        """Answer a message that was sent before with what became of it then."""
        if known.reply is not None:
            return await asyncio.shield(known.reply)
        live = await self._supervisor.find_current(scope, known.task_id)
        if live is not None:
            # Another replica may have put it into the inbox, and nothing was heard of it here yet:
            # then the question that stands is the one it answers.
            await self._supervisor.take_in(live)
            is_gone = self._supervisor.find(scope, known.task_id) is not live
            if is_gone and not live.is_stored:
                raise TaskLostError  # It was never begun here.
            if is_gone or is_ending(live):
                return await self._again(scope, known)  # It was let go of, or has ended, meanwhile.
            if live.failure is not None:
                raise live.failure  # What it is waited for may be undone.
            settled = live.settled()
            if live.is_settled:
                settled.set_result(None)
            return Accepted(live, settled, known.stored, is_known=True)
        if known.stored is not None:
            # It may have been lost with the task, and then it was not sent.
            await asyncio.shield(known.stored)
        stored = await self._store.load(scope, known.task_id)
        if stored is None:
            raise TaskNotFoundError(known.task_id)
        return stored


def _with_message(request: SendMessageRequest, **changes: str) -> SendMessageRequest:
    return replace(request, message=replace(request.message, **changes))


def _errand(
    request: SendMessageRequest, call: Call, task_id: str, context_id: str, sealed: bytes = b""
) -> Delivery:
    configuration = request.configuration
    message = request.message
    return Delivery(
        message=Message(
            message_id=message.message_id,
            context_id=context_id,
            task_id=task_id,
            role=message.role,
            parts=message.parts,
            metadata=message.metadata,
            extensions=message.extensions,
            reference_task_ids=message.reference_task_ids,
        ),
        metadata=request.metadata or {},
        extensions=call.extensions,
        principal=call.principal,
        accepted_output_modes=() if configuration is None else configuration.accepted_output_modes,
        trace="" if telemetry.active is None else telemetry.active.trace(),
        sealed=sealed,
    )


def _check_context(message: Message, context_id: str) -> None:
    """Refuse a context other than the task's own (R-3.4.3-5); none means the task's (R-3.4.3-4)."""
    if message.context_id and message.context_id != context_id:
        raise InvalidParamsError.of(
            "message.contextId", "must be the context of the task that message.taskId names"
        )
