"""Skill: one function of an agent, ready to be planned and run."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from enum import Enum
from typing import TYPE_CHECKING, cast

from dragoman.agent.callables import underlying
from dragoman.agent.context import Context
from dragoman.agent.results import (
    ArtifactStream,
    Rejected,
    Reply,
    direct_message,
    finish,
    turn_message,
)
from dragoman.agent.signature import (
    alternatives,
    hints_of,
    input_modes,
    inspect_signature,
    output_modes,
)
from dragoman.agent.sync_context import SyncContext, ThreadCalls, Threads
from dragoman.errors import (
    InvalidAgentResponseError,
    InvalidParamsError,
    PermissionDeniedError,
    UsageError,
)
from dragoman.model.cards import AgentSkill
from dragoman.service.principal import READ_ONLY
from dragoman.service.worker import Failed, Outcome, Plan, Refused, Turn

if TYPE_CHECKING:
    from dragoman.agent.peers import Peers
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message

__all__ = ("CancelHook", "Shape", "Skill", "shape_of")

CancelHook = Callable[[Context], Awaitable[object]]


class Shape(Enum):
    """The four kinds of function Python has."""

    COROUTINE = "async def, return"
    ASYNC_GENERATOR = "async def, yield"
    FUNCTION = "def, return"
    GENERATOR = "def, yield"

    @property
    def is_async(self) -> bool:
        """Tell whether it runs on the loop, not in a thread."""
        return self in (Shape.COROUTINE, Shape.ASYNC_GENERATOR)

    @property
    def is_generator(self) -> bool:
        """Tell whether it yields."""
        return self in (Shape.ASYNC_GENERATOR, Shape.GENERATOR)


def shape_of(function: Callable[..., object]) -> Shape:
    """Tell which kind of function this is; an object is judged by its ``__call__``."""
    called = underlying(function)
    if inspect.isasyncgenfunction(called):
        return Shape.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(called):
        return Shape.COROUTINE
    if inspect.isgeneratorfunction(called):
        return Shape.GENERATOR
    return Shape.FUNCTION


class Skill:
    """One function, inspected when it was decorated.

    Attributes:
        published: what the card says about it.
        plan: how a message for it will be answered.
        resumes: a turn that was cut off is run again.
        timeout: how many seconds a turn may work, if the author has said so.
        schema: the JSON Schema of the data it takes, if it takes any.
        scopes: what a caller must have been granted to use it.
        is_hidden: whether it is kept from the public card.
        is_read_only: whether it changes nothing, so that callers who may only look may use it.
    """

    __slots__ = (
        "_call",
        "_peers",
        "_run",
        "_shape",
        "_signature",
        "_threads",
        "function",
        "is_hidden",
        "is_read_only",
        "on_cancel",
        "plan",
        "published",
        "resumes",
        "schema",
        "scopes",
        "timeout",
    )

    def __init__(
        self,
        function: Callable[..., object],
        published: AgentSkill,
        *,
        threads: Threads,
        peers: Callable[[], Peers] | None = None,
        on_cancel: CancelHook | None,
        scopes: frozenset[str] = frozenset(),
        is_hidden: bool = False,
        is_read_only: bool = False,
        resumes: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Inspect the function; modes left empty are derived from it.

        Raises:
            UsageError: it cannot be a skill.
        """
        where = f"skill {published.id} ({getattr(function, '__qualname__', function)})"
        self.function = function
        self.on_cancel = on_cancel
        self.scopes = scopes
        self.is_hidden = is_hidden
        self.is_read_only = is_read_only
        self.resumes = resumes
        self.timeout = timeout
        self._threads = threads
        self._peers = peers
        self._shape = shape_of(function)
        hints = hints_of(function, where)
        self._signature = inspect_signature(function, where, hints, is_async=self._shape.is_async)
        result = hints.get("return", object)
        is_direct = alternatives(result) == (Reply,)
        if is_direct:
            self._check_direct(where)
        self.plan = Plan(skill_id=published.id, is_direct=is_direct)
        self.published = AgentSkill(
            id=published.id,
            name=published.name,
            description=published.description,
            tags=published.tags,
            examples=published.examples,
            input_modes=published.input_modes or input_modes(self._signature),
            output_modes=published.output_modes
            or output_modes(result, is_generator=self._shape.is_generator),
        )
        self.schema: JsonObject | None = self._signature.schema()
        self._call = _by_position(function)
        self._run = {
            Shape.COROUTINE: self._run_coroutine,
            Shape.ASYNC_GENERATOR: self._run_async_generator,
            Shape.FUNCTION: self._run_function,
            Shape.GENERATOR: self._run_generator,
        }[self._shape]

    def is_open_to(self, scopes: frozenset[str]) -> bool:
        """Tell whether a caller with these scopes may use it."""
        return self.scopes <= scopes and (self.is_read_only or READ_ONLY not in scopes)

    def check_scopes(self, scopes: frozenset[str]) -> None:
        """Raise PermissionDeniedError for a caller to whom it is closed; it says why."""
        if READ_ONLY in scopes and not self.is_read_only:
            raise PermissionDeniedError(f"Skill {self.published.id} is not read-only")
        if not self.is_open_to(scopes):
            raise PermissionDeniedError.for_want_of(self.scopes - scopes, self.published.id)

    def check(self, message: Message) -> None:
        """Raise InvalidParamsError if the message does not supply the parameters."""
        self._signature.bind(message)

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn."""
        try:
            return await self._run(turn)
        except Rejected as verdict:
            return Refused(verdict.reply and turn_message(turn, verdict.reply))
        except _UnboundError as unbound:
            return Failed(turn_message(turn, Reply(unbound.message)))

    async def answer(self, message: Message, context_id: str, new_id: Callable[[], str]) -> Message:
        """Answer without a task.

        There is no task that could be rejected: what ``Rejected`` says is the answer then.
        """
        arguments = self._signature.bind(message)
        try:
            if self._shape is Shape.COROUTINE:
                reply = await cast("Awaitable[object]", self._call(*arguments))
            else:
                reply = await self._threads.run(self._call, arguments, None)
        except Rejected as verdict:
            reply = verdict.reply
        if not isinstance(reply, Reply):
            raise InvalidAgentResponseError(f"Skill {self.plan.skill_id} gave no reply")
        return direct_message(reply, context_id, new_id)

    async def _run_coroutine(self, turn: Turn) -> Outcome:
        value = await cast("Awaitable[object]", self._call(*self._arguments(turn)))
        return await finish(turn, value)

    async def _run_async_generator(self, turn: Turn) -> Outcome:
        stream = ArtifactStream(turn)
        items = cast("AsyncGenerator[object, None]", self._call(*self._arguments(turn)))
        async with aclosing(items):
            async for item in items:
                await stream.add(item)
        return await stream.close()

    async def _run_function(self, turn: Turn) -> Outcome:
        calls = ThreadCalls() if self._signature.takes_context else None
        arguments = self._arguments(turn, calls)
        return await finish(turn, await self._threads.run(self._call, arguments, calls))

    async def _run_generator(self, turn: Turn) -> Outcome:
        stream = ArtifactStream(turn)
        calls = ThreadCalls() if self._signature.takes_context else None
        # Making a generator runs none of its body.
        items = cast("Generator[object, None, object]", self._call(*self._arguments(turn, calls)))
        async with aclosing(self._threads.iterate(items, calls)) as chunks:
            async for chunk in chunks:
                await stream.add(chunk)
        return await stream.close()

    def _arguments(self, turn: Turn, calls: ThreadCalls | None = None) -> tuple[object, ...]:
        context: object = None
        if self._signature.takes_context:
            peers = self._peers
            context = Context(turn, peers) if calls is None else SyncContext(turn, calls, peers)
        try:
            return self._signature.bind(turn.message, context)
        except InvalidParamsError as error:
            raise _UnboundError(error.message) from error

    def _check_direct(self, where: str) -> None:
        if self._shape.is_generator:
            raise UsageError(f"{where}: a generator cannot be annotated -> Reply")
        if self._signature.takes_context:
            raise UsageError(
                f"{where}: annotated -> Reply it answers without a task and cannot take a context; "
                "take the Message, or annotate the result otherwise"
            )


class _UnboundError(Exception):
    """A later message of a task does not supply the parameters; the caller is told so.

    Told apart from an InvalidParamsError of the author's own code, whose text is not shown.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _by_position(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function with its keyword-only parameters taken by position, too."""
    parameters = inspect.signature(function).parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if not keywords:
        return function
    positional = len(parameters) - len(keywords)

    def call(*arguments: object) -> object:
        named = dict(zip(keywords, arguments[positional:], strict=True))
        return function(*arguments[:positional], **named)

    return call
