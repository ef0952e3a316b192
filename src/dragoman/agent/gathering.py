"""Gathering: durable calls of one turn side by side.

Each awaitable runs in a branch of its own (``dragoman.service.branches``), so that its recorded
results are found again whatever the others do. A task has one caller and can ask one thing at a
time: who asks in a branch takes the floor, and the order in which that happened is recorded.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from dragoman.errors import DivergedError, UsageError
from dragoman.model.messages import Message
from dragoman.service.branches import branch

if TYPE_CHECKING:
    from dragoman.service.worker import Turn

__all__ = ("Gathering", "gathering", "no_branch")

T = TypeVar("T")

_FLOOR: Final = "floor"
"""The kind of the entries that tell which branch asked next; "" that none did any more."""

_FAILED: Final = "!"
"""In their place: which branch has failed, and ended the others by that."""


class _Question(Struct):
    """What a branch wants to ask."""

    asked_in: str
    message: Message
    is_auth: bool
    timeout_seconds: float | None
    answer: asyncio.Future[Message]


class Gathering:
    """Awaitables that run side by side, and what they ask.

    Attributes:
        floor: held while something is asked; what others have to say waits for it.
    """

    def __init__(self, turn: Turn, name: str) -> None:
        """Prepare; ``name`` tells this gathering from others of the turn."""
        self._turn = turn
        self._name = name
        self._questions: list[_Question] = []
        self._news = asyncio.Event()
        # The one in whose branch this one is: its branches have the same floor.
        self._outer = gathering.get()
        self.floor: Final = asyncio.Lock() if self._outer is None else self._outer.floor

    async def run(self, awaitables: Sequence[Awaitable[T]]) -> list[T]:
        """Wait for all, and return their results in order.

        The first that fails ends the others, and is raised.
        """
        if self._has_ended_before():
            self._turn.leave_as_is(f"{self._name}.")
        tasks = [asyncio.ensure_future(self._branch(at, one)) for at, one in enumerate(awaitables)]
        for task in tasks:
            task.add_done_callback(lambda _: self._news.set())
        try:
            await self._moderate(tasks)
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                _forget(awaitables)

    async def ask(
        self, message: Message, *, is_auth: bool, timeout_seconds: float | None
    ) -> Message:
        """Ask, from within a branch, when the floor is free."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        question = _Question(branch.get(), message, is_auth, timeout_seconds, answer)
        self._questions.append(question)
        self._news.set()
        return await answer

    def _has_ended_before(self) -> bool:
        """Tell whether an earlier run of the turn has come to the end of this gathering."""
        floors = [
            one for one in self._turn.recorded if (one.kind, one.name) == (_FLOOR, self._name)
        ]
        return bool(floors) and _is_end(floors[-1].result.decode())

    async def _branch(self, at: int, awaitable: Awaitable[T]) -> T:
        branch.set(self._branch_name(at))
        gathering.set(self)
        return await awaitable

    def _branch_name(self, at: int) -> str:
        return f"{self._name}.{at}"

    async def _moderate(self, tasks: Sequence[asyncio.Future[T]]) -> None:
        """Give the floor to one question after the other until all is done, or something fails."""
        while True:
            recorded = self._turn.recall(_FLOOR, self._name)
            if recorded is None:
                came = await self._next(tasks)
                self._turn.note(_FLOOR, self._name, _floor(came).encode())
            elif recorded.startswith(_FAILED.encode()):
                await self._fail_again(tasks[int(recorded.removeprefix(_FAILED.encode()))])
                return
            else:
                came = await self._next(tasks, recorded.decode())
            if came is None:
                return
            if isinstance(came, int):
                tasks[came].result()  # It raises.
            else:
                await self._put(came)

    async def _next(
        self, tasks: Sequence[asyncio.Future[T]], asked_in: str | None = None
    ) -> _Question | int | None:
        """Wait for the next question, or for that of a branch; None when there will be none.

        If a branch fails before that, its number is returned.
        """
        while True:
            for question in self._questions:
                if asked_in in (None, question.asked_in) and not question.answer.done():
                    self._questions.remove(question)
                    return question
            for at, task in enumerate(tasks):
                # A question that is recorded came before the failures of other branches.
                is_next = not asked_in or asked_in == self._branch_name(at)
                if is_next and task.done() and (task.cancelled() or task.exception() is not None):
                    return at
            if all(task.done() for task in tasks):
                return None
            self._news.clear()
            await self._news.wait()

    async def _fail_again(self, task: asyncio.Future[T]) -> None:
        """Wait for the branch that has failed before, whatever the others do meanwhile."""
        await asyncio.wait([task])
        task.result()
        raise DivergedError("the failure of a branch", "a result of it")

    async def _put(self, question: _Question) -> None:
        try:
            answer = await self._answer_to(question)
        except Exception as problem:  # noqa: BLE001 - it is the branch that has asked
            if not question.answer.done():
                question.answer.set_exception(problem)
        else:
            if not question.answer.done():
                question.answer.set_result(answer)

    async def _answer_to(self, question: _Question) -> Message:
        message, is_auth, seconds = question.message, question.is_auth, question.timeout_seconds
        if self._outer is not None:
            # To the task it is a question of the branch that this gathering is in.
            return await self._outer.ask(message, is_auth=is_auth, timeout_seconds=seconds)
        async with self.floor:
            return await self._turn.ask(message, is_auth=is_auth, timeout_seconds=seconds)


def _forget(awaitables: Sequence[Awaitable[T]]) -> None:
    """Close those that were stopped before they began, of which Python would complain."""
    for one in awaitables:
        if inspect.iscoroutine(one) and inspect.getcoroutinestate(one) == inspect.CORO_CREATED:
            one.close()


def _is_end(floor: str) -> bool:
    """Tell whether this is recorded of the end of a gathering, not of a question."""
    return not floor or floor.startswith(_FAILED)


def _floor(came: _Question | int | None) -> str:
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
