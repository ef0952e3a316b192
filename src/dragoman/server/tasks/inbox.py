"""TaskInbox: how further messages get to a task that is live here.

One that answers a question goes straight to the turn that asked. Any other waits in the inbox,
which is in the store: put there from here, or by another replica.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dragoman.engine.commands import Deliver, GoOn, Withdraw
from dragoman.engine.effects import Enqueue
from dragoman.errors import (
    ConflictError,
    InvalidParamsError,
    SentBeforeError,
    StoreError,
    StoreUnavailableError,
    TaskNotCancelableError,
    UnavailableError,
)
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.delivery import Answer, Delivery, QueuedDelivery, decode_delivery, encode
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turn import ASK, question_name
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.stores.base import (
    CANCEL_ITEM,
    InboxItem,
    Secret,
    SendRecord,
    SharedTaskStore,
    StoredTask,
    TaskStore,
)

__all__ = ("NO_STORE", "Receipt", "TaskInbox", "queue_of", "will_go_on")

NO_STORE: Final = "The store is not available; try again later"


class Receipt(Struct, frozen=True):
    """A message handed to a live task; ``settled`` is done when its turn has ended or paused.

    ``stored`` is done when the message is durable, or has failed to be. It may be waited for by
    several, none of whom may cancel it.
    """

    settled: asyncio.Future[None]
    stored: asyncio.Future[None]


class TaskInbox:
    """Hands messages to live tasks.

    Args:
        run_again: runs the turn of a task that has none.
        cancel: cancels a task.
    """

    def __init__(
        self,
        store: TaskStore,
        background: BackgroundTasks,
        *,
        run_again: Callable[[LiveTask], None],
        cancel: Callable[[LiveTask], None],
    ) -> None:
        self._store = store
        self._background = background
        self._run_again = run_again
        self._cancel = cancel

    def deliver(self, live: LiveTask, errand: Delivery, send: SendRecord | None) -> Receipt:
        """Hand a further message to a task. It is acknowledged once it is ``stored``.

        Raises:
            InvalidParamsError: it is a secret, and nobody waits for one any more.
        """
        _end_stale_question(live)
        if errand.sealed and not live.is_questioned:
            raise InvalidParamsError.of("message", "comes too late: nobody waits for it any more")
        answer = _answer(live, errand)
        if answer is None:
            item = QueuedDelivery(errand)
            live.inbox.append(item)
            # R-3.2.2-1: a pause of the turn before its own ends the wait as well.
            settled = live.settled()
            item.waiters.append(settled)
            # In a task of ours: whatever becomes of the request, the message is stored or not.
            storing = self._background.spawn(self._store_item(live, item, send), name=live.task_id)
            # It may be stopped before it has begun, or fail for a reason that nobody thought of.
            storing.add_done_callback(lambda _: item.stored.done() or _lose(live, item))
            return Receipt(settled, _acknowledgement(item))
        if send is not None:
            live.answers_send(send, errand.message)
        settled, stored = live.settled(), live.written()
        self._go_on(live, answer)
        return Receipt(settled, stored)

    async def take_in(self, live: LiveTask, *, is_ending: bool = False) -> bool:
        """Take up what others have put into the inbox of a task; False if it cannot be read now.

        A task whose turn is being stopped takes nothing up, unless it ``is_ending`` and has to know
        of everything for that.
        """
        store = self._store
        if live.seen is None or not isinstance(store, SharedTaskStore):
            return True
        try:
            items = await store.read_inbox(live.task_id)
        except StoreError:
            return False
        # Some may be our own, of which it is not known yet which number they got.
        if on_their_way := [item.stored for item in live.inbox if not item.stored.done()]:
            await asyncio.wait(on_their_way)
        is_stopped = live.is_stopping and not is_ending
        if is_stopped or live.failure is not None or live.standing.has_ended:
            return True
        # Messages first: what is known when a task ends goes into its history.
        for item in sorted(items, key=_is_cancel):
            if item.n not in live.seen:
                live.seen.add(item.n)
                self.take(live, item)
        # A message that came here may have been acknowledged after one that came elsewhere.
        live.inbox = deque(sorted(live.inbox, key=_number))
        return True

    async def find_copy(self, live: LiveTask, message_id: str) -> int | None:
        """Return the number in the inbox of what the task has just been answered with.

        0 if it is not there; None if the inbox cannot be read now.
        """
        store = self._store
        if not isinstance(store, SharedTaskStore):
            return 0
        try:
            items = await store.read_inbox(live.task_id)
        except StoreError:
            return None
        messages = [item for item in items if item.body != CANCEL_ITEM]
        copies = (i.n for i in messages if decode_delivery(i.body).message.message_id == message_id)
        return next(copies, 0)

    def take(self, live: LiveTask, item: InboxItem) -> None:
        """Hand to a task what is in its inbox already."""
        if item.body == CANCEL_ITEM:
            live.take_up(item.n)
            with suppress(TaskNotCancelableError):
                self._cancel(live)
            return
        errand = decode_delivery(item.body)
        if live.is_answered_by(errand.message):
            live.take_up(item.n)  # It came here as well, and is on its way to the store.
            return
        _end_stale_question(live)
        # Sent before there was a question, it is no answer to it.
        answer = _answer(live, errand, is_answer=errand.is_answer)
        if answer is None:
            live.inbox.append(_queued(item.n, errand))
        else:
            live.take_up(item.n)
            self._go_on(live, answer)

    def take_out(
        self, live: LiveTask, stored: StoredTask
    ) -> tuple[QueuedDelivery | InboxItem, ...]:
        """Take out of the inbox of a task, as it is known here, what the store has in it.

        For when a write was lost: the task decides anew about each, see ``take_again``. One that
        had to wait may be the answer now, and the other way round. Left are those on their way.
        """
        known = {item.stored.result(): item for item in live.inbox if item.is_stored}
        if live.seen is not None:
            live.seen = KnownNumbers(stored.inbox_n)
            for n in known:
                # Some have got there since the store was looked at.
                live.seen.add(n)
        there = {item.n for item in stored.inbox}
        live.inbox = deque(
            item for item in live.inbox if not item.is_stored or item.stored.result() not in there
        )
        return tuple(known.get(item.n, item) for item in stored.inbox)

    def take_again(self, live: LiveTask, items: Iterable[QueuedDelivery | InboxItem]) -> None:
        """Hand to a task what ``take_out`` has taken out, before all that is on its way."""
        on_their_way = tuple(live.inbox)
        live.inbox.clear()
        for item in sorted(items, key=_is_cancel):
            if live.standing.has_ended:
                break
            if isinstance(item, InboxItem):
                self.take(live, item)
            elif (answer := _answer(live, item.errand, is_answer=item.errand.is_answer)) is None:
                live.inbox.append(item)
            else:
                live.take_up(item.stored.result())
                live.join_settled(item.waiters)
                self._go_on(live, answer)
        live.inbox.extend(on_their_way)

    def _go_on(self, live: LiveTask, errand: Delivery) -> None:
        if live.pause is not None and not live.pause.done():
            live.pause.set_result(errand)
        elif live.turn is None:
            self._run_again(live)

    async def _store_item(
        self, live: LiveTask, item: QueuedDelivery, send: SendRecord | None
    ) -> None:
        """Store a message of the inbox, and tell by ``item.stored`` what became of it."""
        body = encode(item.errand)
        try:
            n = await self._store.put_inbox(live.task_id, body, send, epoch=live.epoch)
        except (StoreError, asyncio.CancelledError) as error:
            _lose(live, item, error)
            return
        if live.seen is not None:
            live.seen.add(n)
        item.stored.set_result(n)
        if not live.knows_all_before(n):
            self._background.spawn(self._catch_up(live), name=f"inbox of {live.task_id}")

    async def _catch_up(self, live: LiveTask) -> None:
        """Take up what another replica has acknowledged, of which no hint came yet."""
        await self.take_in(live)


def queue_of(stored: StoredTask) -> tuple[list[QueuedDelivery], list[InboxItem]]:
    """Return what waits in the inbox of a task, and what is to be handed to it once it lives.

    The latter are an answer that its last holder did not get to see, and, in the end, words to
    cancel it. A second answer waits: it was meant for the same question.
    """
    queue: list[QueuedDelivery] = []
    answers: list[InboxItem] = []
    cancels: list[InboxItem] = []
    for item in stored.inbox:
        if item.body == CANCEL_ITEM:
            cancels.append(item)
            continue
        errand = decode_delivery(item.body)
        if errand.is_answer and stored.state.is_interrupted and not answers:
            answers.append(item)
        else:
            queue.append(_queued(item.n, errand))
    return queue, [*answers, *cancels]


def will_go_on(stored: StoredTask) -> bool:
    """Tell whether an answer, or word to cancel it, lies in the inbox of a task that waits."""
    return bool(queue_of(stored)[1])


def _end_stale_question(live: LiveTask) -> None:
    """Let a task go on whose author's code has just stopped waiting: what comes is no answer."""
    if live.pause is not None and live.pause.cancelled() and live.is_questioned:
        live.note(ASK, _question(live), encode(Answer()))
        live.execute(GoOn())


def _lose(live: LiveTask, item: QueuedDelivery, error: BaseException | None = None) -> None:
    """Take a message out of the inbox that could not be stored, and tell so."""
    if item in live.inbox:
        live.inbox.remove(item)
        if live.failure is None:
            live.execute(Withdraw())
    # It was there before, or the task is another replica's, who has ended it.
    is_told = isinstance(error, SentBeforeError | ConflictError)
    item.stored.set_exception(error if is_told else StoreUnavailableError(str(error)))
    item.stored.exception()  # Perhaps nobody looks at it; that is no fault.


def _number(item: QueuedDelivery) -> float:
    """Return the place of a message in the inbox; one on its way there has the last."""
    return item.stored.result() if item.is_stored else math.inf


def _is_cancel(item: QueuedDelivery | InboxItem) -> bool:
    return isinstance(item, InboxItem) and item.body == CANCEL_ITEM


def _answer(live: LiveTask, errand: Delivery, *, is_answer: bool = True) -> Delivery | None:
    """Let the task decide about a message: it is the answer, as noted, or has to wait (None).

    A secret that has to wait is shown to nobody: only who has asked for it may see it.
    """
    question = _question(live)
    effects = live.execute(Deliver(errand.message, is_answer=is_answer))
    if isinstance(effects[0], Enqueue):
        return None
    if errand.sealed:
        live.keep(Secret(live.next_result, errand.sealed))
        errand = replace(errand, secret=live.next_result, sealed=b"")
    live.note(ASK, question, encode(Answer(errand=errand)))
    return errand


def _question(live: LiveTask) -> str:
    return question_name(is_auth=live.standing.state is TaskState.AUTH_REQUIRED)


def _queued(n: int, errand: Delivery) -> QueuedDelivery:
    item = QueuedDelivery(errand)
    item.stored.set_result(n)
    return item


def _acknowledgement(item: QueuedDelivery) -> asyncio.Future[None]:
    """Return a future for when a message of the inbox is durable.

    If it is not to be, that has an UnavailableError, or the SentBeforeError.
    """
    acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(stored: asyncio.Future[int]) -> None:
        error = stored.exception()
        if error is None:
            acknowledged.set_result(None)
            return
        if isinstance(error, ConflictError):
            error = TaskLostError()
        elif not isinstance(error, SentBeforeError):
            error = UnavailableError(NO_STORE)
        acknowledged.set_exception(error)
        acknowledged.exception()  # Perhaps nobody looks at it any more; that is no fault.

    item.stored.add_done_callback(tell)
    return acknowledged
