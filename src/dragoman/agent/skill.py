"""Skill: one function of an agent, ready to be planned and run."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from dragoman.agent.callables import underlying
from dragoman.agent.context import Context
from dragoman.agent.forms import answer_modes
from dragoman.agent.results import (
    ArtifactStream,
    Failed,
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
    ContentTypeNotSupportedError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    PermissionDeniedError,
    UsageError,
)
from dragoman.model.cards import AgentSkill
from dragoman.model.media_types import JSON, TEXT, accepts, check_parts
from dragoman.model.messages import text_of
from dragoman.service import worker as outcomes
from dragoman.service.principal import READ_ONLY
from dragoman.service.worker import Outcome, Plan, Turn

if TYPE_CHECKING:
    from dragoman.agent.peers import Peers
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.model.operations import SendMessageRequest

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
        replaces_at_end: what was streamed is sent once more at the end, whole.
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
        "_taker",
        "_threads",
        "function",
        "is_hidden",
        "is_read_only",
        "on_cancel",
        "plan",
        "published",
        "replaces_at_end",
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
        default_modes: tuple[Sequence[str], Sequence[str]] = ((), ()),
        replaces_at_end: bool = False,
    ) -> None:
        """Inspect the function; modes left empty are derived from it.

        Args:
            default_modes: what the author says of all skills, input and output: goes with what is
                derived.

        Raises:
            UsageError: it cannot be a skill.
        """
        where = f"skill {published.id} ({getattr(function, '__qualname__', function)})"
        self.function: Final = function
        self.on_cancel: Final = on_cancel
        self.scopes: Final = scopes
        self.is_hidden: Final = is_hidden
        self.is_read_only: Final = is_read_only
        self.resumes: Final = resumes
        self.timeout: Final = timeout
        self.replaces_at_end: Final = replaces_at_end
        self._threads = threads
        self._peers = peers
        self._shape = shape_of(function)
        hints = hints_of(function, where)
        self._signature = inspect_signature(function, where, hints, is_async=self._shape.is_async)
        result = hints.get("return", object)
        is_direct = alternatives(result) == (Reply,)
        if is_direct:
            self._check_direct(where)
        self.plan: Final = Plan(skill_id=published.id, is_direct=is_direct)
        self._taker = f"skill {published.id}"
        self.published: Final = AgentSkill(
            id=published.id,
            name=published.name,
            description=published.description,
            tags=published.tags,
            examples=published.examples,
            input_modes=published.input_modes
            or _together(input_modes(self._signature), default_modes[0]),
            output_modes=published.output_modes
            or _together(
                output_modes(result, is_generator=self._shape.is_generator), default_modes[1]
            ),
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

    def check_modes(self, request: SendMessageRequest, asked: Message | None = None) -> None:
        """Hold a request against the modes of the skill.

        Args:
            asked: the question that the message answers; what it asks for is taken. What the skill
                gives was accepted by then.

        Raises:
            ContentTypeNotSupportedError: the skill does not take a part of the message, or gives
                nothing that the caller accepts.
        """
        modes = self.published.input_modes
        taker = self._taker
        if asked is not None:
            check_parts(request.message.parts, (*answer_modes(asked), *modes), taker=taker)
            return
        check_parts(request.message.parts, modes, taker=taker)
        accepted = request.configuration.accepted_output_modes if request.configuration else ()
        if accepted and not self._gives(accepted):
            raise ContentTypeNotSupportedError(
                f"{taker} gives {', '.join(self.published.output_modes)}, "
                "none of which the request accepts",
                metadata={"outputModes": ",".join(self.published.output_modes)},
            )

    def _gives(self, accepted: Sequence[str]) -> bool:
        """Whether the skill gives something that is accepted; data can be written as text."""
        given = self.published.output_modes
        if JSON in given and accepts(accepted, TEXT):
            return True
        return any(accepts(accepted, mode) for mode in given) or any(
            accepts(given, mode) for mode in accepted
        )

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn."""
        try:
            return await self._run(turn)
        except Rejected as verdict:
            return outcomes.Refused(verdict.reply and turn_message(turn, verdict.reply))
        except Failed as verdict:
            return outcomes.Failed(verdict.reply and turn_message(turn, verdict.reply))
        except _UnboundError as unbound:
            return outcomes.Failed(turn_message(turn, Reply(unbound.message)))

    async def answer(self, message: Message, context_id: str, new_id: Callable[[], str]) -> Message:
        """Answer without a task.

        There is no task that could be rejected: what ``Rejected`` says is the answer then. What
        ``Failed`` says is an error.
        """
        arguments = self._signature.bind(message)
        try:
            if self._shape is Shape.COROUTINE:
                reply = await cast("Awaitable[object]", self._call(*arguments))
            else:
                reply = await self._threads.run(self._call, arguments, None)
        except Rejected as verdict:
            reply = verdict.reply
        except Failed as verdict:
            said = text_of(verdict.reply.parts) if verdict.reply is not None else ""
            raise InternalError(said or "The agent failed") from verdict
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


def _together(derived: tuple[str, ...], default: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*derived, *default)))


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
