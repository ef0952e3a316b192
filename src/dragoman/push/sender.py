"""NotificationSender: works through what webhooks are to be told.

It takes webhooks that are due from the store and sends, for each, one notification after the other.
So the order of a webhook is kept, and one that fails waits without anybody waiting for it: there is
a bound on how many are served at once, and one per host, and a host that does not answer is left
alone for a while. A notification counts as sent when the store knows that it was. Whoever dies in
between sends it once more, under the same id.

What is told, how it is written and how it is sent are not its business.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from msgspec import Struct

from dragoman.clock import Clock
from dragoman.errors import StoreError
from dragoman.model.tasks import TaskState
from dragoman.push.notification import OutgoingNotification, PushCounters
from dragoman.push.schedule import Again, Breakers, Dead, Done, Outcome, RetryPlan

if TYPE_CHECKING:
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.stores.webhooks import Webhook, WebhookKey, WebhookStore

__all__ = ("Notice", "NotificationSender", "Outbox", "SenderLimits")

_logger = logging.getLogger(__name__)

_SWEEP_SECONDS: Final = 1.0
"""How often webhooks are looked for whose time has come. What is committed here is noticed at once;
this is for retries, and for what other processes have done to the store."""

_AT_A_STRETCH: Final = 50
"""Notifications for one webhook before it goes to the end of the line."""


class SenderLimits(Struct, frozen=True, kw_only=True):
    """How much is done at once, and for how long.

    Attributes:
        at_once: webhooks that are served at the same time; below the connections that egress has.
        per_host: how many of them at one host.
        claim_seconds: for how long a webhook is taken: longer than an attempt can last.
    """

    at_once: int = 64
    per_host: int = 8
    claim_seconds: float = 90.0


class Notice(Struct, frozen=True):
    """What is next for a webhook.

    Attributes:
        seq: the event it is about; or, without a parcel, up to where there is nothing to tell.
        state: of the task after that event.
    """

    seq: int
    state: TaskState | None
    parcel: OutgoingNotification | None = None


class Outbox(Protocol):
    """What webhooks are to be told."""

    async def next_notice(self, webhook: Webhook) -> Notice:
        """Return what is next for a webhook: its dead letter to be sent again, or an event.

        The same event always comes in a parcel of the same id.
        """
        ...


Deliver = Callable[["TaskPushNotificationConfig", OutgoingNotification], Awaitable[Outcome]]
"""Makes one attempt. Whatever comes of it is an outcome."""


class NotificationSender:
    """Sends notifications, until it is stopped."""

    def __init__(
        self,
        *,
        store: WebhookStore,
        outbox: Outbox,
        deliver: Deliver,
        clock: Clock,
        plan: RetryPlan | None = None,
        limits: SenderLimits | None = None,
        breakers: Breakers | None = None,
        counters: PushCounters | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._outbox = outbox
        self._deliver = deliver
        self._clock = clock
        self._plan = plan or RetryPlan()
        self._limits = limits or SenderLimits()
        # Not "or": one that knows of no failures is empty, and false.
        self._breakers = Breakers() if breakers is None else breakers
        self.counters: Final = counters or PushCounters()
        self._chance = chance
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._workers: dict[WebhookKey, asyncio.Task[None]] = {}
        self._at_host: Counter[str] = Counter()

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled; call ``stop`` before, to let attempts under way come to an end."""
        self._store.watch(self.wake)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep())
            try:
                while True:
                    self._woken.clear()
                    while await self._take(group):
                        pass
                    await self._woken.wait()
            finally:
                for worker in self._workers.values():
                    worker.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing new, and wait for the attempts under way, but not for long.

        What is cut off by the end of ``run`` is given back, and sent again by whoever comes next.
        """
        self._is_stopping = True
        if self._workers:
            await asyncio.wait([*self._workers.values()], timeout=grace_seconds)

    async def forget(self, key: WebhookKey) -> None:
        """Break off whatever is on its way to a webhook, which is not in the store any more.

        R-3.1.10-4: nothing is sent to it after this.
        """
        worker = self._workers.get(key)
        if worker is not None:
            worker.cancel()
            await asyncio.wait([worker])

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(_SWEEP_SECONDS)
            self.wake()

    # --- taking ---------------------------------------------------------------------------------

    async def _take(self, group: asyncio.TaskGroup) -> bool:
        """Take what is due, as far as there is room; tell whether there may be more."""
        room = self._limits.at_once - len(self._workers)
        if room <= 0 or self._is_stopping:
            return False
        now_ms = self._clock.now_ms()
        full = {host for host, n in self._at_host.items() if n >= self._limits.per_host}
        try:
            taken = await self._store.take_due(
                now_ms=now_ms,
                until_ms=self._claim_until(),
                limit=room,
                except_hosts=full | self._breakers.resting(now_ms),
            )
            for webhook in taken:
                if self._is_full(webhook):
                    await self._give_back(webhook)
                else:
                    self._start(group, webhook)
        except StoreError as error:
            _logger.debug("no webhooks are taken while the store is gone: %s", error)
            return False
        except Exception:
            # Those that were taken are due again when their claim is over.
            _logger.exception("webhooks could not be taken")
            return False
        return len(taken) == room

    def _is_full(self, webhook: Webhook) -> bool:
        is_busy = self._at_host[webhook.new.host] >= self._limits.per_host
        # A webhook that was replaced is free again before the one who serves it has noticed.
        return is_busy or webhook.key in self._workers or self._is_stopping

    def _start(self, group: asyncio.TaskGroup, webhook: Webhook) -> None:
        self._at_host[webhook.new.host] += 1
        worker = group.create_task(self._work(webhook), name=f"webhook {webhook.key.id}")
        self._workers[webhook.key] = worker
        # Also if it was cancelled before it began.
        worker.add_done_callback(lambda _: self._ended(webhook))

    def _ended(self, webhook: Webhook) -> None:
        host = webhook.new.host
        self._at_host[host] -= 1
        if not self._at_host[host]:
            del self._at_host[host]
        del self._workers[webhook.key]
        self.wake()

    # --- sending --------------------------------------------------------------------------------

    async def _work(self, webhook: Webhook) -> None:
        """Serve a webhook that was taken; what goes wrong here is nobody else's trouble."""
        try:
            await self._serve(webhook)
        except StoreError as error:
            _logger.warning("webhook %s waits for the store: %s", _name(webhook), error)
        except Exception:
            # It is due again when the claim is over.
            _logger.exception("webhook %s cannot be served", _name(webhook))

    async def _serve(self, webhook: Webhook) -> None:
        held: Webhook = webhook
        try:
            for _ in range(_AT_A_STRETCH):
                rest = await self._send_next(held)
                if rest is None or not rest.is_pending:
                    return
                held = rest
        except asyncio.CancelledError:
            with suppress(StoreError):
                await self._give_back(held)
            raise
        await self._give_back(held)

    async def _send_next(self, held: Webhook) -> Webhook | None:
        """Do what is next for a webhook; return it if there is more to do for it now."""
        notice = await self._outbox.next_notice(held)
        if notice.parcel is None:
            return await self._advance(held, notice)
        return await self._attempt(held, notice, notice.parcel)

    async def _attempt(
        self, held: Webhook, notice: Notice, parcel: OutgoingNotification
    ) -> Webhook | None:
        """Try to deliver, and note what comes of it."""
        host = held.new.host
        if self._is_stopping or self._breakers.wait_ms(host, self._clock.now_ms()):
            await self._give_back(held)
            return None
        self._breakers.begin(host, self._clock.now_ms())
        outcome = await self._deliver(held.new.config, parcel)
        now_ms = self._clock.now_ms()
        self._breakers.note(host, outcome, now_ms)
        attempts = held.attempts + 1
        step = self._plan.next_step(
            outcome, attempts=attempts, now_ms=now_ms, chance=self._chance()
        )
        self.counters.note(step)
        match step:
            case Done():
                return await self._advance(held, notice)
            case Again(at_ms=at_ms):
                finding = outcome.finding
                await self._store.postpone(held, attempts=attempts, due_ms=at_ms, finding=finding)
                return None
            case Dead(finding=finding):
                return await self._bury(held, notice, attempts, finding)
            case _:
                assert_never(step)

    async def _advance(self, held: Webhook, notice: Notice) -> Webhook | None:
        return await self._store.advance(
            held,
            seq=notice.seq,
            state=notice.state,
            now_ms=self._clock.now_ms(),
            until_ms=self._claim_until(),
        )

    async def _bury(
        self, held: Webhook, notice: Notice, attempts: int, finding: str
    ) -> Webhook | None:
        _logger.warning(
            "event %d is not delivered to webhook %s after %d attempts: %s",
            notice.seq,
            _name(held),
            attempts,
            finding,
        )
        return await self._store.bury(
            held,
            seq=notice.seq,
            state=notice.state,
            attempts=attempts,
            finding=finding,
            now_ms=self._clock.now_ms(),
            until_ms=self._claim_until(),
        )

    async def _give_back(self, held: Webhook) -> None:
        """Let a webhook be taken again at once, by whoever may."""
        await self._store.postpone(
            held, attempts=held.attempts, due_ms=self._clock.now_ms(), finding=held.finding
        )

    def _claim_until(self) -> int:
        return self._clock.now_ms() + round(1000 * self._limits.claim_seconds)


def _name(webhook: Webhook) -> str:
    return f"{webhook.key.id} of task {webhook.key.task_id} at {webhook.new.host}"
