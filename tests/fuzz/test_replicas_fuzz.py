"""Replicas under any order of events: nothing acknowledged is lost, nothing is done twice.

Three replicas in memory share a store whose every step takes its time and may fail. Clients send,
twice at once at times, follow and cancel; hints get lost, replicas stand still past their leases,
stop and are replaced; time jumps. All of it goes by one seed, and the same again by the same seed:
DRAGOMAN_CRASH_SEED, as the failure says.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

import pytest

from dragoman.agent.context import Context
from dragoman.agent.gathering import gathering
from dragoman.errors import (
    NoAnswerError,
    StoreUnavailableError,
    TaskEndedError,
    TaskNotCancelableError,
    UnavailableError,
)
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState
from dragoman.server.tasks.delivery import decode_answer, decode_delivery
from dragoman.service.branches import branch
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import TaskQuery
from dragoman.testing.clock import FakeClock
from tests.fuzz.shaken_store import Dice, ShakenStore
from tests.scenarios.replicas.replicas import Member, Replicas, in_memory
from tests.support.server.agency import send
from tests.support.server.fakes import SCOPE, ScriptedWorker, agent_message

pytestmark = pytest.mark.anyio

T = TypeVar("T")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
PARTS: Final = 100 if IS_SOAK else 1
WORLDS: Final = 100
"""In each part; a world takes a twentieth of a second."""

AWAY: Final = (UnavailableError, StoreUnavailableError)
"""What a client is told when it should try again."""

REPLICAS: Final = 3
CLIENTS: Final = 8
TRIES: Final = 60
PASSES: Final = 4000
"""Of the loop, until the world calms down."""


def does_fail(number: int) -> bool:
    """Tell whether a branch of what is gathered by a word fails."""
    return number % 2 == 1


class Script:
    """Turns that do what their message says, word by word."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def text(self) -> str:
        """Return what to do in a turn, by chance."""
        steps = ("publish", "record", "ask", "ask", "hurry", "take", "sleep", "beside", "gather")
        return " ".join(self._dice.chance.choices(steps, k=self._dice.chance.randrange(5)))

    async def run(self, turn: Turn) -> Outcome:
        """Do it; what a former run has done is not done again."""
        # As an Agent does: it may have been begun from a branch of another turn.
        gathering.set(None)
        ctx = Context(turn)
        key, words = turn.message.message_id, text_of(turn.message.parts).split()
        beside = [
            asyncio.ensure_future(self._record_beside(turn, f"beside {number}"))
            for number, word in enumerate(words)
            if word == "beside"
        ]
        try:
            for number, word in enumerate(words):
                await self._dice.dawdle(10)
                await self._do(turn, ctx, word, (key, number))
        finally:
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        await turn.say(agent_message(f"that was {key}"))
        return Completed()

    async def _do(self, turn: Turn, ctx: Context, word: str, place: tuple[str, int]) -> None:
        name = f"{place[1]}"
        match word:
            case "publish":
                artifact = Artifact(artifact_id=name, parts=(Part(text=name),))
                await turn.artifact(artifact, last_chunk=True)
            case "record":
                await self._record(turn, name)
            case "ask":
                answer = await turn.ask(agent_message("which?"))
                await turn.say(agent_message(f"so it is {answer.message_id}"))
            case "hurry":
                try:
                    await turn.ask(
                        agent_message("which, within five minutes?"), timeout_seconds=300
                    )
                except NoAnswerError:
                    await turn.say(agent_message("too late"))
            case "take":
                await turn.take_message()
            case "sleep":
                await turn.sleep(5)
            case "gather":
                with suppress(ZeroDivisionError):
                    await ctx.gather(self._ask_in(ctx, *place), self._fail_in(ctx, *place))
            case _:
                pass

    async def _ask_in(self, ctx: Context, key: str, number: int) -> None:
        await self._record_in(ctx, 3)
        await ctx.gather(ctx.ask("which?"), self._record_in(ctx, 1))
        await self._dice.dawdle(10)
        await ctx.say(f"{key} has asked {number}")

    async def _fail_in(self, ctx: Context, key: str, number: int) -> None:
        """Fail, at times, before the question of the other branch is answered."""
        await self._record_in(ctx, 3)
        await self._dice.dawdle(10)
        await ctx.say(f"{key} has worked {number}")
        if does_fail(number):
            raise ZeroDivisionError

    async def _record_in(self, ctx: Context, count: int) -> None:
        for step in range(count):
            await ctx.step(self._dice.dawdle, 20, name=f"{step}")

    async def _record(self, turn: Turn, name: str) -> None:
        if turn.recall("step", name) is None:
            await self._dice.dawdle(10)
            await turn.record("step", name, b"1")

    async def _record_beside(self, turn: Turn, name: str) -> None:
        branch.set(name)
        for number in range(3):
            await self._dice.dawdle(30)
            await self._record(turn, f"{number}")


class World:
    """Replicas, those who call them, and what gets in their way."""

    def __init__(self, seed: str, resources: AsyncExitStack) -> None:
        # What of ours rolls dice of its own, such as when to sweep.
        random.seed(seed)
        self._dice = Dice(seed)
        kind = in_memory(partial(ShakenStore, dice=self._dice))
        assert isinstance(kind.clock, FakeClock)
        self._clock = kind.clock
        self._replicas = Replicas(kind, resources)
        self._script = Script(self._dice)
        self._members: list[Member] = []
        self._stopping: list[asyncio.Task[None]] = []
        self._numbers = count()
        self._acknowledged: dict[str, str] = {}
        self._to_cancel: set[str] = set()
        self.wrong: list[str] = []

    @property
    def course(self) -> object:
        """What chance has led to: the same if everything has happened in the same order."""
        return self._dice.chance.getstate(), self._clock.now_ms(), self._acknowledged

    async def live(self) -> None:
        """Let chance have its way for a while, then let everything come to its end."""
        for _ in range(REPLICAS):
            self._members.append(await self._start())
        self._dice.is_calm = False
        # Some call their tasks by names of their own, as old clients do.
        names = [f"task of {n}" if self._dice.happens(0.3) else "" for n in range(CLIENTS)]
        clients = [asyncio.ensure_future(self._call(name)) for name in names]
        meddling = asyncio.ensure_future(self._meddle())
        for _ in range(PASSES):
            await asyncio.sleep(0)
            if all(client.done() for client in clients):
                break
        meddling.cancel()
        await asyncio.gather(meddling, return_exceptions=True)
        self._dice.is_calm = True
        for member in self._members:
            member.go_on()
        self._replicas.exchange.mend()
        if self._stopping:
            # For the last commits a replica waits some seconds, which pass for everybody.
            await asyncio.wait(self._stopping, timeout=30)
        await self._until_over([*clients, *self._stopping])
        self.wrong += [f"a client hangs: {_stacks()}" for client in clients if not client.done()]
        for client in clients:
            client.cancel()
        outcomes = await asyncio.gather(*clients, return_exceptions=True)
        self.wrong += [
            f"a client has failed: {each!r}" for each in outcomes if isinstance(each, Exception)
        ]

    async def _start(self) -> Member:
        seconds = self._dice.chance.choice((1, 60))
        while True:
            worker = ScriptedWorker(self._script.run)
            with suppress(*AWAY):
                return await self._replicas.serve(
                    worker,
                    max_attempts=10**6,
                    park_after_seconds=seconds,
                    # Longer than any world lasts.
                    idempotency_seconds=10**6,
                )

    # --- clients ------------------------------------------------------------------------------

    async def _call(self, name: str) -> None:
        """Begin a task, send it more, and perhaps cancel it."""
        message = self._message()
        begun = [self._deliver(*message, name=name) for _ in range(self._copies())]
        found = set(await asyncio.gather(*map(self._later, begun))) - {None}
        if len(found) > 1:
            self.wrong.append(f"one message has begun {found}")
        if not found:
            return
        task_id = found.pop()
        assert task_id is not None
        jobs: list[Coroutine[Any, Any, object]] = []
        for _ in range(self._dice.chance.randrange(1, 6)):
            message = self._message()
            copies = self._copies()
            jobs += [self._deliver(*message, task_id, name) for _ in range(copies)]
            if self._dice.happens(0.08):
                self._to_cancel.add(task_id)
                jobs += [self._cancel(name or task_id) for _ in range(copies)]
        await asyncio.gather(*map(self._later, jobs))

    def _copies(self) -> int:
        """Return how often to send a message at once: clients do that have not heard for long."""
        return 2 if self._dice.happens(0.3) else 1

    async def _later(self, job: Awaitable[T]) -> T:
        await self._dice.dawdle(120)
        return await job

    def _message(self) -> tuple[str, str]:
        return f"m{next(self._numbers)}", self._script.text() or "rest"

    async def _deliver(
        self, message_id: str, text: str, task_id: str = "", name: str = ""
    ) -> str | None:
        """Send a message until it is acknowledged or refused; return the task that has it."""
        call = Call(alias=name)
        if name:
            task_id = ""
        for _ in range(TRIES):
            member = self._dice.chance.choice(self._members)
            is_quick = self._dice.is_calm or self._dice.happens(0.6)
            request = send(
                text, message_id=message_id, task_id=task_id, return_immediately=is_quick
            )
            try:
                if self._dice.happens(0.25):
                    found = await self._follow(member, request, call)
                else:
                    found = (await member.send(request, call)).id
            except TaskEndedError:
                return None
            except AWAY:
                await self._dice.dawdle(30)
                continue
            if found is not None:
                self._acknowledged[message_id] = found
                return found
        return None

    async def _follow(self, member: Member, request: SendMessageRequest, call: Call) -> str | None:
        """Send a message and follow the task, for a while or to the end."""
        stream = await member.stream(request, call)
        seen: list[int] = []
        task_id: str | None = None
        async for batch in stream:
            seen += [event.seq for event in batch]
            if task_id is None and batch[0].value.task is not None:
                task_id = batch[0].value.task.id
            if self._dice.happens(0.3):
                break
        await stream.aclose()
        if seen and seen != list(range(seen[0], seen[0] + len(seen))):
            self.wrong.append(f"a stream of {task_id} has gaps: {seen}")
        return task_id

    async def _cancel(self, task_id: str) -> None:
        for _ in range(TRIES):
            try:
                await self._dice.chance.choice(self._members).cancel(task_id)
            except TaskNotCancelableError:
                return
            except AWAY:
                await self._dice.dawdle(30)
            else:
                return

    # --- what gets in their way ---------------------------------------------------------------

    async def _meddle(self) -> None:
        actions: tuple[Callable[[], Awaitable[None]], ...] = (
            *(self._cut,) * 3,
            *(self._mend,) * 5,
            *(self._pause,) * 2,
            *(self._pass_time,) * 4,
            self._replace,
        )
        while True:
            await asyncio.sleep(0)
            await self._dice.dawdle(80)
            await self._dice.chance.choice(actions)()

    async def _cut(self) -> None:
        self._replicas.exchange.cut()

    async def _mend(self) -> None:
        self._replicas.exchange.mend()

    async def _pass_time(self) -> None:
        self._clock.advance(self._dice.chance.choice((0.2, 1, 5, 70)))

    async def _pause(self) -> None:
        """Let a replica stand still, perhaps past its lease."""
        member = self._dice.chance.choice(self._members)
        member.stand_still()
        for _ in range(self._dice.chance.choice((2, 30))):
            self._clock.advance(1)
            await asyncio.sleep(0)
            await self._dice.dawdle(10)
        member.go_on()

    async def _replace(self) -> None:
        """Stop a replica, and start another one beside it."""
        if len(self._stopping) == 4:
            return
        member = self._members.pop(self._dice.chance.randrange(REPLICAS))
        self._stopping.append(asyncio.ensure_future(member.stop()))
        starting = asyncio.ensure_future(self._start())
        while not starting.done():
            self._clock.advance(1)
            await asyncio.sleep(0)
        self._members.append(starting.result())

    # --- the end ------------------------------------------------------------------------------

    async def _until_over(self, work: list[asyncio.Future[Any]]) -> None:
        """Answer whatever is asked, until every task has ended and nobody waits any more."""
        answering: set[asyncio.Future[Any]] = set()
        for number in range(400):
            await _pass(30)
            self._clock.advance(2)
            try:
                tasks = await self._tasks()
            except UnavailableError:
                continue  # A write was lost before, and is not made up for yet.
            waiting = [task for task in tasks if not task.status.state.is_terminal]
            if not waiting and all(each.done() for each in work):
                return
            if number % 5 == 4:
                for task in waiting:
                    if task.status.state is TaskState.INPUT_REQUIRED:
                        answer = self._deliver(f"m{next(self._numbers)}", "rest", task.id)
                        answering.add(asyncio.ensure_future(answer))

    async def _tasks(self) -> list[Task]:
        store = self._members[0].store
        page = await store.list_tasks(TaskQuery(scope=SCOPE, limit=CLIENTS + 1))
        return [await self._members[0].get(stored.id) for stored in page.tasks]

    async def check(self) -> None:
        """Note whatever is not as it must be."""
        for task in await self._tasks():
            self.wrong += [f"{task.id}: {wrong}" for wrong in await self._wrong_with(task)]
        for member in self._members:
            left = member.runtime.live_tasks, member.runtime.running_turns
            if left != (0, 0):
                self.wrong.append(f"tasks and turns are left in memory: {left}")

    async def _wrong_with(self, task: Task) -> list[str]:
        wrong: list[str] = []
        state = task.status.state
        if state is not TaskState.COMPLETED and (
            state is not TaskState.CANCELED or task.id not in self._to_cancel
        ):
            wrong.append(f"ended as {state}: {task.status.message}")
        store = self._members[0].store
        events = await store.read_events(task.id, after=0, limit=10**6)
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            wrong.append("its log has gaps")
        updates = [event.value.status_update for event in events]
        ends = [each for each in updates if each and each.status.state.is_terminal]
        if len(ends) != 1:
            wrong.append(f"it has {len(ends)} ends")
        sent = [message for message in task.history if message.role is Role.USER]
        history = Counter(message.message_id for message in sent)
        mine = {key for key, task_id in self._acknowledged.items() if task_id == task.id}
        wrong += [f"{key} is in its history {n} times" for key, n in history.items() if n > 1]
        wrong += [f"{key} was acknowledged, and is lost" for key in mine if key not in history]
        used = await self._used(task.id)
        wrong += [f"{key} was used {n} times" for key, n in used.items() if n > 1]
        if state is TaskState.COMPLETED:
            first = task.history[0].message_id
            unused = mine - used.keys() - {first}
            wrong += [f"{key} was acknowledged, and used for nothing" for key in unused]
            turns = (task.history[0], *await self._turns(task.id))
            wrong += self._wrong_words(task, turns)
        return wrong

    def _wrong_words(self, task: Task, turns: Sequence[Message]) -> list[str]:
        """Tell what turns have not said once that they had to say: each strand, and in the end."""
        said = Counter(text_of(message.parts) for message in task.history)
        due = [f"that was {each.message_id}" for each in turns]
        maybe: list[str] = []
        for key, number in _gatherings(turns):
            due.append(f"{key} has worked {number}")
            # The failure of the one may end the other before it has come to that.
            (maybe if does_fail(number) else due).append(f"{key} has asked {number}")
        return [
            *(f"{text!r} was said {said[text]} times" for text in due if said[text] != 1),
            *(f"{text!r} was said {said[text]} times" for text in maybe if said[text] > 1),
        ]

    async def _turns(self, task_id: str) -> list[Message]:
        """Return the messages that have led to a turn of their own, but for the first."""
        journal = await self._members[0].store.read_journal(task_id)
        return [decode_delivery(entry.result).message for entry in journal if entry.kind == "turn"]

    async def _used(self, task_id: str) -> Counter[str]:
        """Count the turns and answers that each message has led to."""
        used: Counter[str] = Counter()
        for entry in await self._members[0].store.read_journal(task_id):
            match entry.kind.partition("@")[0]:
                case "turn":
                    used[decode_delivery(entry.result).message.message_id] += 1
                case "ask" | "message":
                    errand = decode_answer(entry.result).errand
                    if errand is not None:
                        used[errand.message.message_id] += 1
                case _:
                    pass
        return used


def _gatherings(turns: Sequence[Message]) -> Iterator[tuple[str, int]]:
    """Yield where turns have gathered: the id of the message, and the number of the word."""
    for turn in turns:
        for number, word in enumerate(text_of(turn.parts).split()):
            if word == "gather":
                yield turn.message_id, number


def _stacks() -> str:
    """Return where everybody waits."""
    lines: list[str] = []
    for task in asyncio.all_tasks():
        frames: list[str] = []
        work: Any = task.get_coro()
        while getattr(work, "cr_frame", None) is not None:
            frames.append(f"{work.cr_code.co_qualname}:{work.cr_frame.f_lineno}")
            work = work.cr_await
        lines.append(" > ".join(frames))
    return "\n".join(sorted(lines))


async def _pass(passes: int) -> None:
    for _ in range(passes):
        await asyncio.sleep(0)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
async def test_nothing_is_lost_or_done_twice_in_whatever_order_things_happen(
    part: int, caplog: pytest.LogCaptureFixture
) -> None:
    seed = os.environ.get("DRAGOMAN_CRASH_SEED") or str(random.getrandbits(32))
    loop = asyncio.get_running_loop()
    for number in range(WORLDS):
        async with AsyncExitStack() as resources:
            world = World(f"{seed} {part} {number}", resources)
            loop.set_exception_handler(lambda _, context, w=world: w.wrong.append(str(context)))
            try:
                await world.live()
                await world.check()
            finally:
                loop.set_exception_handler(None)
        repeat = f"repeat with DRAGOMAN_CRASH_SEED={seed}, part {part}, world {number}"
        assert world.wrong == [], repeat
    gc.collect()
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == [], f"seed {seed}"


async def test_the_same_seed_leads_to_the_same_course_of_events() -> None:
    courses: list[object] = []
    for seed in ("one", "one", "two"):
        async with AsyncExitStack() as resources:
            world = World(seed, resources)
            await world.live()
            courses.append(world.course)
    assert courses[0] == courses[1] != courses[2]
