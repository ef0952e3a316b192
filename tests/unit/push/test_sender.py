import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dragoman.errors import StoreUnavailableError
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.push.notification import OutgoingNotification
from dragoman.push.schedule import Answered, BreakerRules, Breakers, Outcome, RetryPlan, Unanswered
from dragoman.push.sender import Notice, NotificationSender, SenderLimits
from dragoman.stores.base import NewTask, Scope, TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.webhooks import LetterKey, NewWebhook, Webhook, WebhookKey
from dragoman.testing.clock import FakeClock

UP = Answered(status=204)
DOWN = Answered(status=503)
PLAN = RetryPlan(attempts=3, brief_attempts=2, first_seconds=10)


class Log:
    """An outbox in which every event of a task is told."""

    def __init__(self, store: MemoryTaskStore) -> None:
        self._store = store
        self.is_broken = False

    async def next_notice(self, webhook: Webhook) -> Notice:
        if self.is_broken:
            raise RuntimeError("a log that cannot be read")
        seq = webhook.letter_seq or webhook.cursor + 1
        events = await self._store.read_events(webhook.key.task_id, after=seq - 1, limit=1)
        if not events:
            return Notice(webhook.cursor, webhook.state)
        name = f"{webhook.key.task_id}/{seq}"
        parcel = OutgoingNotification(id=name, body=events[0].json, headers={})
        return Notice(seq, TaskState.WORKING, parcel)


class Bench:
    """A sender, with a store below and hosts to call that a test has in its hands."""

    def __init__(self, limits: SenderLimits | None = None) -> None:
        self.clock = FakeClock()
        self.store = MemoryTaskStore()
        self.log = Log(self.store)
        # By host: what is answered, in turn; then ``UP`` for ever.
        self.answers: dict[str, list[Outcome]] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.calls: list[str] = []
        self.busy = 0
        self.most_busy = 0
        self.sender = NotificationSender(
            store=self.store.webhooks,
            outbox=self.log,
            deliver=self._deliver,
            clock=self.clock,
            plan=PLAN,
            limits=limits,
            breakers=Breakers(BreakerRules(failures=2, first_seconds=60, trial_seconds=5)),
            chance=lambda: 1.0,
        )

    async def _deliver(
        self, config: TaskPushNotificationConfig, parcel: OutgoingNotification
    ) -> Outcome:
        host = config.url
        self.calls.append(parcel.id)
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        try:
            if host in self.gates:
                await self.gates[host].wait()
        finally:
            self.busy -= 1
        answers = self.answers.get(host)
        return answers.pop(0) if answers else UP

    async def task(self, name: str, *, host: str = "a", events: int = 1) -> None:
        """Begin a task with a webhook, and have things happen to it."""
        new = NewWebhook(
            config=TaskPushNotificationConfig(id="w", task_id=name, url=host),
            dialect="1.0",
            host=host,
            created_ms=self.clock.now_ms(),
        )
        created = NewTask(
            scope=Scope("", "alice"),
            context_id="c",
            skill_id="s",
            origin_dialect="1.0",
            created_ms=self.clock.now_ms(),
            webhook=new,
        )
        await self.write(name, 0, created=created)
        for seq in range(1, events):
            await self.write(name, seq)

    async def write(self, name: str, seq: int, created: NewTask | None = None) -> None:
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.store.append(
            TaskWrite(
                task_id=name,
                epoch=1,
                expected_seq=seq,
                created=created,
                entries=(b'{"statusUpdate":{}}',),
                events=1,
                state=TaskState.WORKING,
                at_ms=self.clock.now_ms(),
            ),
            done.set_result,
        )
        assert await done is None

    async def webhook(self, name: str) -> Webhook:
        found = await self.store.webhooks.get(WebhookKey(name, "w"))
        assert found is not None
        return found

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is true; time stands still meanwhile."""
        async with asyncio.timeout(5):
            while not condition():  # noqa: ASYNC110 - anything may make it true
                await asyncio.sleep(0)

    async def until_called(self, *ids: str) -> None:
        await self.until(lambda: len(self.calls) >= len(ids))
        assert self.calls == list(ids)

    async def until_rested(self, name: str) -> Webhook:
        """Wait until a webhook is not served any more."""
        async with asyncio.timeout(5):
            while (await self.webhook(name)).claimed_until_ms:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        return await self.webhook(name)

    async def pass_time(self, seconds: float) -> None:
        """Move the clock on, and let the sender look around."""
        await self.clock.until_asleep(1)
        self.clock.advance(seconds)
        await self.clock.until_asleep(1)
        for _ in range(50):
            await asyncio.sleep(0)


@asynccontextmanager
async def sending(limits: SenderLimits | None = None) -> AsyncGenerator[Bench]:
    bench = Bench(limits)
    await bench.store.open()
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(bench.sender.run())
            try:
                yield bench
            finally:
                running.cancel()
    finally:
        await bench.store.close()


# --- in order -----------------------------------------------------------------------------------


async def test_what_happens_is_sent_at_once_and_in_order() -> None:
    async with sending() as bench:
        await bench.task("t", events=3)
        await bench.until_called("t/1", "t/2", "t/3")
        rested = await bench.until_rested("t")
        assert (rested.cursor, rested.is_pending) == (3, False)
        await bench.write("t", 3)
        await bench.until_called("t/1", "t/2", "t/3", "t/4")
        assert bench.sender.counters.delivered == 4


async def test_what_was_left_by_the_one_before_is_sent_at_the_start() -> None:
    bench = Bench()
    await bench.store.open()
    await bench.task("t")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.sender.run())
        await bench.until_called("t/1")
        running.cancel()


@pytest.mark.requirement("R-13.2-3", "R-4.3.3-9")
async def test_what_fails_is_tried_again_and_nothing_overtakes_it() -> None:
    async with sending() as bench:
        bench.answers["a"] = [DOWN]
        await bench.task("t", events=2)
        waiting = await bench.until_rested("t")
        assert (waiting.attempts, waiting.finding) == (1, "HTTP status 503")
        assert waiting.due_ms == bench.clock.now_ms() + 10_000
        await bench.pass_time(9)
        assert bench.calls == ["t/1"]
        await bench.pass_time(1)
        await bench.until_called("t/1", "t/1", "t/2")
        assert (bench.sender.counters.retried, bench.sender.counters.delivered) == (1, 2)


@pytest.mark.requirement("R-4.3.3-11", "R-13.2-4")
async def test_after_the_last_attempt_the_next_one_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with sending() as bench:
        bench.answers["a"] = [Answered(status=410)]
        with caplog.at_level(logging.WARNING):
            await bench.task("t", events=2)
            await bench.until_called("t/1", "t/2")
            await bench.until_rested("t")
        assert (
            "event 1 is not delivered to webhook w of task t at a after 1 attempts" in caplog.text
        )
        (letter,) = await bench.store.webhooks.dead_letters(after=None, limit=9)
        assert (letter.key, letter.finding) == (LetterKey("t", "w", 1), "HTTP status 410")
        assert bench.sender.counters.dead == 1


async def test_a_dead_letter_is_sent_again_before_anything_newer() -> None:
    async with sending() as bench:
        bench.answers["a"] = [Answered(status=410), Answered(status=410)]
        await bench.task("t", events=2)
        await bench.until_called("t/1", "t/2")
        await bench.until_rested("t")
        keys = [LetterKey("t", "w", seq) for seq in (2, 1)]
        await bench.store.webhooks.retry(keys, bench.clock.now_ms())
        await bench.until_called("t/1", "t/2", "t/1", "t/2")
        await bench.until_rested("t")
        assert await bench.store.webhooks.dead_letters(after=None, limit=9) == ()


# --- beside each other --------------------------------------------------------------------------


async def test_a_host_that_does_not_answer_holds_up_nobody_else() -> None:
    async with sending(SenderLimits(at_once=4, per_host=2)) as bench:
        bench.gates["slow"] = asyncio.Event()
        for number in range(6):
            await bench.task(f"s{number}", host="slow")
        await bench.until(lambda: bench.busy == 2)
        await bench.task("t", host="quick", events=3)
        await bench.until(lambda: bench.calls.count("t/3") == 1)
        assert bench.busy == 2
        bench.gates["slow"].set()
        await bench.until(lambda: len(bench.calls) == 9)
        assert sorted(bench.calls) == sorted([f"s{n}/1" for n in range(6)] + ["t/1", "t/2", "t/3"])


async def test_only_so_many_are_served_at_once() -> None:
    async with sending(SenderLimits(at_once=3, per_host=8)) as bench:
        for number in range(8):
            bench.gates[f"h{number}"] = asyncio.Event()
            await bench.task(f"t{number}", host=f"h{number}")
        await bench.until(lambda: bench.busy == 3)
        for gate in bench.gates.values():
            gate.set()
        await bench.until(lambda: len(bench.calls) == 8)
        assert bench.most_busy == 3


async def test_one_webhook_is_told_one_thing_at_a_time() -> None:
    async with sending() as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("t", events=5)
        await bench.until(lambda: bench.busy == 1)
        await bench.pass_time(1)
        assert bench.busy == 1
        bench.gates["a"].set()
        await bench.until_called("t/1", "t/2", "t/3", "t/4", "t/5")
        assert bench.most_busy == 1


async def test_a_host_that_fails_often_is_left_alone_for_a_while() -> None:
    async with sending() as bench:
        bench.answers["a"] = [Unanswered(finding="refused")] * 2
        for count, name in enumerate(("t1", "t2"), 1):
            await bench.task(name)
            await bench.until(lambda count=count: len(bench.calls) == count)
            await bench.until_rested(name)
        await bench.task("t3")
        await bench.pass_time(11)
        assert len(bench.calls) == 2
        # None of that counts as an attempt.
        assert (await bench.webhook("t3")).attempts == 0
        await bench.pass_time(50)
        await bench.until(lambda: len(bench.calls) == 5)
        assert sorted(bench.calls[2:]) == ["t1/1", "t2/1", "t3/1"]


async def test_a_webhook_with_much_to_tell_goes_to_the_end_of_the_line() -> None:
    async with sending(SenderLimits(at_once=1)) as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("long", events=120)
        await bench.until(lambda: bench.busy == 1)
        await bench.task("short")
        bench.clock.advance(0.001)
        bench.gates["a"].set()
        await bench.until(lambda: len(bench.calls) == 121)
        assert bench.calls.index("short/1") == 50


# --- things that go wrong -----------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.10-4")
async def test_what_is_on_its_way_to_a_removed_webhook_is_broken_off() -> None:
    async with sending() as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("t", events=2)
        await bench.until(lambda: bench.busy == 1)
        await bench.store.webhooks.remove(WebhookKey("t", "w"))
        await bench.sender.forget(WebhookKey("t", "w"))
        assert bench.busy == 0
        bench.gates["a"].set()
        await bench.pass_time(1)
        assert bench.calls == ["t/1"]
        # Whom nobody serves can be forgotten as well.
        await bench.sender.forget(WebhookKey("t", "w"))


async def test_a_webhook_that_was_replaced_is_told_again_at_its_new_address() -> None:
    async with sending() as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("t")
        await bench.until(lambda: bench.busy == 1)
        old = (await bench.webhook("t")).new
        config = replace(old.config, url="b")
        await bench.store.webhooks.put("t", replace(old, config=config, host="b"))
        bench.gates["a"].set()
        await bench.pass_time(1)
        await bench.until_called("t/1", "t/1")
        assert (await bench.until_rested("t")).cursor == 1


async def test_a_log_that_cannot_be_read_is_no_trouble_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with sending(SenderLimits(claim_seconds=30)) as bench:
        bench.log.is_broken = True
        await bench.task("t1")
        await bench.until(lambda: "cannot be served" in caplog.text)
        bench.log.is_broken = False
        await bench.task("t2")
        await bench.until_called("t2/1")
        await bench.pass_time(31)
        await bench.until_called("t2/1", "t1/1")


async def test_while_the_store_is_gone_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending() as bench:
        take = bench.store.webhooks.take_due
        asked = 0

        async def fail(**_: object) -> tuple[Webhook, ...]:
            nonlocal asked
            asked += 1
            raise StoreUnavailableError("disk full")

        monkeypatch.setattr(bench.store.webhooks, "take_due", fail)
        await bench.task("t")
        await bench.until(lambda: asked > 0)
        monkeypatch.setattr(bench.store.webhooks, "take_due", take)
        await bench.pass_time(1)
        await bench.until_called("t/1")


# --- the end ------------------------------------------------------------------------------------


async def test_a_stop_lets_attempts_end_and_begins_no_more() -> None:
    async with sending() as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("t", events=2)
        await bench.until(lambda: bench.busy == 1)
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.sender.stop(5))
            await asyncio.sleep(0)
            bench.gates["a"].set()
        await bench.task("late")
        await bench.pass_time(1)
        assert bench.calls == ["t/1"]
        rested = await bench.until_rested("t")
        assert (rested.cursor, rested.is_pending) == (1, True)


async def test_what_is_cut_off_is_given_back_for_whoever_comes_next() -> None:
    async with sending() as bench:
        bench.gates["a"] = asyncio.Event()
        await bench.task("t")
        await bench.until(lambda: bench.busy == 1)
        await bench.sender.stop(0)
        assert (await bench.webhook("t")).claimed_until_ms > 0
        store = bench.store
    left = await store.webhooks.get(WebhookKey("t", "w"))
    assert left is not None
    assert (left.claimed_until_ms, left.cursor, left.is_pending) == (0, 0, True)
