"""Context: what a skill may see of its task, and do with it.

``Context`` is for coroutines, ``SyncContext`` for plain functions, which run in a thread. Both are
thin: the Turn behind them decides what is queued, stored and shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, overload

from dragoman.agent.forms import form_part, read_answer
from dragoman.agent.results import Reply, parts_of, turn_message
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.service.principal import Principal
    from dragoman.service.worker import Turn

__all__ = ("Calls", "Context", "SyncContext")

T = TypeVar("T")
Asked = TypeVar("Asked")


class _View:
    """What can be seen of a task."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        """Look at this turn."""
        self._turn = turn

    @property
    def task_id(self) -> str:
        """The task."""
        return self._turn.task_id

    @property
    def context_id(self) -> str:
        """The conversation the task belongs to."""
        return self._turn.context_id

    @property
    def tenant(self) -> str:
        """The tenant the task belongs to; empty for the default one."""
        return self._turn.tenant

    @property
    def user(self) -> str:
        """Who owns the task, as the authenticator named them."""
        return self._turn.owner

    @property
    def principal(self) -> Principal:
        """Who sent the message this turn answers."""
        return self._turn.principal

    @property
    def scopes(self) -> frozenset[str]:
        """What the sender of that message was granted."""
        return self._turn.principal.scopes

    @property
    def message(self) -> Message:
        """The message this turn answers."""
        return self._turn.message

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages of the task so far, oldest first."""
        return self._turn.history()

    @property
    def metadata(self) -> JsonObject:
        """The metadata of the request that brought the message."""
        return self._turn.metadata

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions active for that request."""
        return self._turn.extensions

    @property
    def accepted_output_modes(self) -> tuple[str, ...]:
        """The media types the caller takes; empty for any."""
        return self._turn.accepted_output_modes


class Context(_View):
    """A task, for a skill that is a coroutine or an async generator."""

    __slots__ = ()

    async def say(self, *content: object, metadata: JsonObject | None = None) -> None:
        """Tell the caller how the work goes; the task goes on working.

        The content becomes parts by the rules of ``Reply``; one ``Reply`` is said as it is.
        """
        await self._turn.say(turn_message(self._turn, _reply_of(content, metadata)))

    async def artifact(
        self,
        value: object,
        *,
        name: str = "",
        artifact_id: str | None = None,
        description: str = "",
        metadata: JsonObject | None = None,
        append: bool = False,
        last_chunk: bool = False,
    ) -> str:
        """Publish a result, or a chunk of one, and return the id of its artifact.

        The value becomes parts by the rules of return values; an ``Artifact`` is published as it
        is.

        Args:
            artifact_id: the artifact to replace, or with ``append`` to extend; a fresh one if None.
        """
        if append and artifact_id is None and not isinstance(value, Artifact):
            raise UsageError("ctx.artifact(append=True) needs the artifact_id to append to")
        if not isinstance(value, Artifact):
            value = Artifact(
                artifact_id=artifact_id or self._turn.new_id(),
                name=name,
                description=description,
                parts=parts_of(value),
                metadata=metadata,
            )
        await self._turn.artifact(value, append=append, last_chunk=last_chunk)
        return value.artifact_id

    @overload
    async def ask(self, question: object) -> str: ...
    @overload
    async def ask(self, question: object, form: type[Asked]) -> Asked: ...
    @overload
    async def ask(self, question: object, form: object) -> object: ...

    async def ask(self, question: object, form: object = None) -> object:
        """Pause the task until the caller answers, and return the answer.

        Without a form that is the text of the answer. With a type (a scalar, an enum, a Literal, a
        dataclass, a Struct, a pydantic model) it is a value of that type, from the answer's data
        part or, for a scalar, from its text; the question then carries the JSON Schema of the form.
        ``Message`` and ``File`` are given as they came. An answer that does not fit is told what is
        wrong with it, and the question is asked again.
        """
        asked = _reply_of((question,), None)
        wanted = str if form is None else form
        schema = form_part(wanted)
        parts = asked.parts if schema is None else (*asked.parts, schema)
        complaint: tuple[Part, ...] = ()
        while True:
            reply = Reply(*complaint, *parts, metadata=asked.metadata)
            answer = await self._turn.ask(turn_message(self._turn, reply))
            try:
                return read_answer(wanted, answer)
            except InvalidParamsError as error:
                complaint = (Part(text=error.message),)

    async def require_auth(self, *content: object, details: JsonObject | None = None) -> Message:
        """Pause the task until the caller has authorized it; return the message that resumes it.

        Args:
            details: what a client needs to obtain the authorization, sent as a data part.
        """
        if details is not None:
            content = (*content, details)
        message = turn_message(self._turn, _reply_of(content, None))
        return await self._turn.ask(message, is_auth=True)


class Calls(Protocol):
    """The way from a thread into the turn's own coroutine."""

    def call(self, make: Callable[[], Coroutine[object, object, T]], /) -> T:
        """Run a coroutine in the turn and return its result; for use in the thread."""
        ...


class SyncContext(_View):
    """A task, for a skill that is a plain function or generator: the same calls, blocking.

    A thread is held as long as ``ask`` waits; a skill that converses with many is better a
    coroutine.
    """

    __slots__ = ("_calls", "_context")

    def __init__(self, turn: Turn, calls: Calls) -> None:
        """Do what ``Context`` does, through these calls."""
        super().__init__(turn)
        self._context = Context(turn)
        self._calls = calls

    def say(self, *content: object, metadata: JsonObject | None = None) -> None:
        """Do what ``Context.say`` does."""
        self._calls.call(lambda: self._context.say(*content, metadata=metadata))

    def artifact(
        self,
        value: object,
        *,
        name: str = "",
        artifact_id: str | None = None,
        description: str = "",
        metadata: JsonObject | None = None,
        append: bool = False,
        last_chunk: bool = False,
    ) -> str:
        """Do what ``Context.artifact`` does."""
        return self._calls.call(
            lambda: self._context.artifact(
                value,
                name=name,
                artifact_id=artifact_id,
                description=description,
                metadata=metadata,
                append=append,
                last_chunk=last_chunk,
            )
        )

    @overload
    def ask(self, question: object) -> str: ...
    @overload
    def ask(self, question: object, form: type[Asked]) -> Asked: ...
    @overload
    def ask(self, question: object, form: object) -> object: ...

    def ask(self, question: object, form: object = None) -> object:
        """Do what ``Context.ask`` does."""
        return self._calls.call(lambda: self._context.ask(question, form))

    def require_auth(self, *content: object, details: JsonObject | None = None) -> Message:
        """Do what ``Context.require_auth`` does."""
        return self._calls.call(lambda: self._context.require_auth(*content, details=details))


def _reply_of(content: tuple[object, ...], metadata: JsonObject | None) -> Reply:
    if len(content) == 1 and isinstance(content[0], Reply) and metadata is None:
        return content[0]
    return Reply(*content, metadata=metadata)
