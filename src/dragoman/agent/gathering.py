"""Gathering: durable calls of one turn side by side.

Each awaitable runs in a branch of its own (``dragoman.service.branches``), so that its recorded
results are found again whatever the others do. A task has one caller and can ask one thing at a
time: a question holds the ``QuestionLock``, and the order in which that happened is recorded.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from dragoman.engine.journal import FLOOR
from dragoman.errors import DivergedError, UnavailableError, UsageError
from dragoman.model.messages import Message
from dragoman.service.branches import branch
from dragoman.service.worker import Suspended, Waits

if TYPE_CHECKING:
    from dragoman.service.worker import Turn

__all__ = (
    "Gathering",
    "QuestionLock",
    "gathering",
    "no_branch",
    "while_nobody_asks",
)

T = TypeVar("T")

_GATHER: Final = "gather"
"""The kind of the entry that begins a gathering: what was published before it stands."""

_FAILED: Final = "!"
"""Recorded in the end: which branch has failed, and ended the others by that."""

_LEFT: Final = "~"
"""The same: the author's code has stopped waiting (a timeout of its own, say)."""


class _Question(Struct):
    """What a branch wants to ask.

    Attributes:
        waits: told when it is to be waited, unless the answer is known from an earlier run.
        is_open: that is so.
        is_resting: the branch is not counted as being at work, because another one asks.
    """

    asked_in: str
    message: Message
    is_auth: bool
    timeout_seconds: float | None
    answer: asyncio.Future[Message]
    waits: Waits | None
    is_open: bool = False
    is_resting: bool = False


class Gathering:
    """Awaitables that run side by side, and what they ask.

    Attributes:
        lock: shared by all that is gathered in one turn, within each other or not.
    """

    def __init__(self, turn: Turn, name: str) -> None:
        """Prepare; ``name`` tells this gathering from others of the turn."""
        self._turn = turn
        self._name = name
        self._tasks: Sequence[asyncio.Future[Any]] = ()
        self._questions: list[_Question] = []
        self._is_asking = False
        self._news = asyncio.Event()
        self._has_ended = False
        # The one in whose branch this one is.
        self._outer = gathering.get()
        self.lock: Final = QuestionLock(turn) if self._outer is None else self._outer.lock

    async def run(self, awaitables: Sequence[Awaitable[T]]) -> list[T]:
        """Wait for all, and return their results in order.

        The first that fails ends the others, and is raised.
        """
        try:
            return await self._run(awaitables)
        finally:
            _forget(awaitables)

    async def _run(self, awaitables: Sequence[Awaitable[T]]) -> list[T]:
        self._begin()
        # Whoever has called this waits, and the branches work instead.
        self._turn.join(len(awaitables))
        self._turn.rest()
        tasks = [asyncio.ensure_future(self._branch(at, one)) for at, one in enumerate(awaitables)]
        self._tasks = tasks
        for task in tasks:
            task.add_done_callback(self._branch_ended)
        try:
            await self._put_questions()
        except asyncio.CancelledError:
            self._note_left()
            raise
        finally:
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                self._turn.join()
        # For the slot, if all branches were waiting in the end.
        await self._turn.seated()
        return [task.result() for task in tasks]

    def _begin(self) -> None:
        """Record that this begins."""
        try:
            recorded = self._turn.recall(_GATHER, self._name)
        except DivergedError:
            # Journals of earlier versions do not say it. What else is wrong is found out below.
            return
        if recorded is None:
            self._turn.note(_GATHER, self._name, b"")

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool,
        timeout_seconds: float | None,
        waits: Waits | None = None,
    ) -> Message:
        """Ask, from within a branch, when no other branch asks."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        question = _Question(branch.get(), message, is_auth, timeout_seconds, answer, waits)
        self._questions.append(question)
        if self._is_asking:
            self._let_rest(question)
        self._news.set()
        try:
            return await answer
        finally:
            if question in self._questions:
                self._questions.remove(question)
            self._let_work(question)

    async def _branch(self, at: int, awaitable: Awaitable[T]) -> T:
        branch.set(self._branch_name(at))
        gathering.set(self)
        return await awaitable

    def _branch_name(self, at: int) -> str:
        return f"{self._name}.{at}"

    def _branch_ended(self, _: object) -> None:
        self._turn.rest()
        self._news.set()

    def _let_rest(self, question: _Question) -> None:
        if not question.is_resting:
            question.is_resting = True
            self._turn.rest()

    def _let_work(self, question: _Question) -> None:
        if question.is_resting:
            question.is_resting = False
            self._turn.join()

    async def _put_questions(self) -> None:
        """Put one question after the other until all is done, or something fails."""
        while True:
            recorded = self._turn.recall(FLOOR, self._name)
            if recorded is None:
                came = await self._next()
                self._raise_stop(came)
                self._turn.note(FLOOR, self._name, _record_of(came).encode())
            elif recorded == _LEFT.encode():
                self._has_ended = True
                # As it will be once more.
                await asyncio.get_running_loop().create_future()
                return
            elif recorded.startswith(_FAILED.encode()):
                self._has_ended = True
                await self._fail_again(int(recorded.removeprefix(_FAILED.encode())))
                return
            else:
                came = await self._next(recorded.decode())
            if isinstance(came, _Question):
                await self._put(came)
                continue
            self._has_ended = True
            if came is not None:
                self._tasks[came].result()  # It raises.
            return

    def _raise_stop(self, came: _Question | int | None) -> None:
        """Pass it on, and record nothing, when a branch was stopped: that is no failure of it."""
        if isinstance(came, int) and self._tasks[came].cancelled():
            self._has_ended = True
            raise asyncio.CancelledError

    async def _next(self, asked_in: str | None = None) -> _Question | int | None:
        """Wait for the next question, or for that of a branch; None when there will be none.

        If a branch fails before that, its number is returned.
        """
        while True:
            failed = self._failed(asked_in)
            if failed is not None:
                return failed
            for question in self._questions:
                if asked_in in (None, question.asked_in) and not question.answer.done():
                    self._questions.remove(question)
                    return question
            if all(task.done() for task in self._tasks):
                return None
            await self._heard()

    def _failed(self, asked_in: str | None = None) -> int | None:
        """Return the number of a branch that has failed."""
        for at, task in enumerate(self._tasks):
            # A question that is recorded came before the failures of other branches.
            is_meant = not asked_in or asked_in == self._branch_name(at)
            if is_meant and task.done() and (task.cancelled() or task.exception() is not None):
                return at
        return None

    async def _heard(self) -> None:
        """Wait until something has happened."""
        self._news.clear()
        await self._news.wait()

    async def _fail_again(self, at: int) -> None:
        """Wait for the branch that has failed before, whatever the others do meanwhile."""
        await asyncio.wait([self._tasks[at]])
        self._tasks[at].result()
        raise DivergedError("the failure of a branch", "a result of it")

    async def _put(self, question: _Question) -> None:
        """Ask, until there is an answer, its branch waits no more, or another one has failed."""
        self._is_asking = True
        for other in self._questions:
            self._let_rest(other)
        self._let_work(question)
        asking = asyncio.ensure_future(self._answer_to(question))
        for each in (asking, question.answer):
            each.add_done_callback(lambda _: self._news.set())

        def is_in_vain() -> bool:
            # Before it is open, it is not known whether there was an answer the last time.
            return question.answer.done() or (question.is_open and self._failed() is not None)

        try:
            while not (asking.done() or is_in_vain()):
                await self._heard()
        finally:
            is_withdrawn = asking.cancel()
            await asyncio.wait([asking])
            self._is_asking = False
        if asking.cancelled():
            if not is_withdrawn:
                raise asyncio.CancelledError  # The task has ended.
            return
        problem = asking.exception()
        if problem is not None and not isinstance(problem, Exception):
            raise problem
        if question.answer.done():
            return
        if problem is None:
            question.answer.set_result(asking.result())
        else:
            question.answer.set_exception(problem)

    async def _answer_to(self, question: _Question) -> Message:
        message, is_auth, seconds = question.message, question.is_auth, question.timeout_seconds
        if self._outer is not None:
            # To the task it is a question of the branch that this gathering is in.
            return await self._outer.ask(
                message,
                is_auth=is_auth,
                timeout_seconds=seconds,
                waits=partial(self._open, question),
            )
        await self.lock.acquire()
        try:
            return await self._turn.ask(
                message,
                is_auth=is_auth,
                timeout_seconds=seconds,
                waits=partial(self._open, question),
            )
        finally:
            self.lock.release()

    def _open(self, question: _Question, *, is_asked: bool) -> None:
        """Note that an answer is to be waited for."""
        if not is_asked:
            # Who ended that wait, and will again, may have something to say before.
            self.lock.release()
        question.is_open = True
        if question.waits is not None:
            question.waits(is_asked=is_asked)
        self._news.set()

    def _note_left(self) -> None:
        """Record that the author's code has stopped waiting, unless it is the turn that is stopped.

        Then this will be gone on with.
        """
        if self._has_ended or not self._turn.is_given_up:
            return
        with suppress(asyncio.CancelledError, Suspended, UnavailableError, DivergedError):
            # It may have been left in this very place before.
            if self._turn.recall(FLOOR, self._name) is None:
                self._turn.note(FLOOR, self._name, _LEFT.encode())


def _forget(awaitables: Sequence[Awaitable[T]]) -> None:
    """Close those that were stopped before they began, of which Python would complain."""
    for one in awaitables:
        if inspect.iscoroutine(one) and inspect.getcoroutinestate(one) == inspect.CORO_CREATED:
            one.close()


def _record_of(came: _Question | int | None) -> str:
    """Return what is recorded of a question, of the failure of a branch, or of the end of all."""
    if came is None:
        return ""
    return f"{_FAILED}{came}" if isinstance(came, int) else came.asked_in


gathering: Final[ContextVar[Gathering | None]] = ContextVar("gathering", default=None)
"""The gathering in whose branch the current code runs, if it does in one."""


def no_branch(call: str) -> None:
    """Raise UsageError for a call that cannot be made in a branch."""
    if gathering.get() is not None:
        raise UsageError(f"ctx.{call} cannot be called in what is given to ctx.gather")


def while_nobody_asks() -> AbstractAsyncContextManager[object]:
    """Wait, in a branch, until no other branch is asking."""
    together = gathering.get()
    return nullcontext() if together is None else together.lock.publishing()


class QuestionLock:
    """Held by the question of one branch, or shared by the branches that publish something.

    A task has one caller, and a task that asks says nothing else until it is answered. A question
    waits for what is being published; what is to be published waits for the answer, and its branch
    does not count as being at work meanwhile.
    """

    def __init__(self, turn: Turn) -> None:
        """Begin; nothing is asked or published."""
        self._turn = turn
        self._publishing = 0
        self._is_held = False
        self._changed = asyncio.Event()

    async def acquire(self) -> None:
        """Hold it, to ask; only the outermost gathering does, one question after the other."""
        self._is_held = True
        try:
            while self._publishing:
                await self._change()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let branches publish again; nothing happens if it was not held."""
        self._is_held = False
        self._changed.set()

    @asynccontextmanager
    async def publishing(self) -> AsyncGenerator[None]:
        """Share it, once nothing is being asked."""
        while self._is_held:
            async with self._turn.away():
                await self._change()
        self._publishing += 1
        try:
            yield
        finally:
            self._publishing -= 1
            self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
