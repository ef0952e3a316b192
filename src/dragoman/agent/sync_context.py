"""SyncContext: the context of a skill that is a plain function, or a generator, in a thread."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack, cast, overload

from dragoman.agent.client_tools import TOOL_SECONDS
from dragoman.agent.context import (
    ASK_TRIES,
    NO_DEFAULT,
    Asked,
    CallKeywords,
    Context,
    Default,
    Seconds,
)
from dragoman.agent.view import View

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence

    from dragoman.agent.peers import Callee, Peers
    from dragoman.client.results.reply import ReplyView
    from dragoman.errors import ToolError
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.service.worker import Turn

__all__ = ("Calls", "SyncContext")

T = TypeVar("T")


class Calls(Protocol):
    """The way from a thread into the turn's own coroutine."""

    def call(self, make: Callable[[], Coroutine[object, object, T]], /) -> T:
        """Run a coroutine in the turn and return its result; for use in the thread."""
        ...


class SyncContext(View):
    """A task, for a skill that is a plain function or generator: the same calls, blocking.

    A thread is held as long as ``ask`` waits; a skill that converses with many is better a
    coroutine.
    """

    __slots__ = ("_calls", "_context")

    def __init__(self, turn: Turn, calls: Calls, peers: Callable[[], Peers] | None = None) -> None:
        """Do what ``Context`` does, through these calls."""
        super().__init__(turn)
        self._context = Context(turn, peers)
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
    def ask(self, question: object, *, timeout: Seconds = None, sensitive: bool = False) -> str: ...
    @overload
    def ask(
        self,
        question: object,
        form: type[Asked],
        *,
        timeout: Seconds = None,
        tries: int = ...,
        sensitive: bool = False,
    ) -> Asked: ...
    @overload
    def ask(
        self,
        question: object,
        form: type[Asked],
        *,
        timeout: Seconds,
        default: Default,
        tries: int = ...,
        sensitive: bool = False,
    ) -> Asked | Default: ...
    @overload
    def ask(
        self,
        question: object,
        form: object = None,
        *,
        timeout: Seconds = None,
        default: object = ...,
        tries: int = ...,
        sensitive: bool = False,
    ) -> object: ...

    def ask(
        self,
        question: object,
        form: object = None,
        *,
        timeout: Seconds = None,
        default: object = NO_DEFAULT,
        tries: int = ASK_TRIES,
        sensitive: bool = False,
    ) -> object:
        """Do what ``Context.ask`` does."""
        return self._calls.call(
            lambda: self._context.ask(
                question, form, timeout=timeout, default=default, tries=tries, sensitive=sensitive
            )
        )

    def use_tool(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        timeout: Seconds = TOOL_SECONDS,
        default: object = NO_DEFAULT,
    ) -> object:
        """Do what ``Context.use_tool`` does."""
        return self._calls.call(
            lambda: self._context.use_tool(name, arguments, timeout=timeout, default=default)
        )

    def use_tools(
        self, uses: Sequence[tuple[str, JsonObject]], *, timeout: Seconds = TOOL_SECONDS
    ) -> list[object | ToolError]:
        """Do what ``Context.use_tools`` does."""
        return self._calls.call(lambda: self._context.use_tools(uses, timeout=timeout))

    def require_auth(
        self, *content: object, details: JsonObject | None = None, timeout: Seconds = None
    ) -> Message:
        """Do what ``Context.require_auth`` does."""
        return self._calls.call(
            lambda: self._context.require_auth(*content, details=details, timeout=timeout)
        )

    def step(
        self, function: Callable[..., Awaitable[T] | T], *args: object, name: str | None = None
    ) -> T:
        """Do what ``Context.step`` does."""
        return self._calls.call(lambda: self._context.step(function, *args, name=name))

    @overload
    def call(
        self, agent: Callee, *content: object, **options: Unpack[CallKeywords]
    ) -> ReplyView: ...
    @overload
    def call(
        self, agent: Callee, *content: object, into: type[T], **options: Unpack[CallKeywords]
    ) -> T: ...

    def call(
        self,
        agent: Callee,
        *content: object,
        into: object = None,
        **options: Unpack[CallKeywords],
    ) -> object:
        """Do what ``Context.call`` does."""
        if into is None:
            return self._calls.call(lambda: self._context.call(agent, *content, **options))
        kind = cast("type[object]", into)
        return self._calls.call(lambda: self._context.call(agent, *content, into=kind, **options))

    def sleep(self, seconds: float | timedelta) -> None:
        """Do what ``Context.sleep`` does."""
        self._calls.call(lambda: self._context.sleep(seconds))

    def now(self) -> datetime:
        """Do what ``Context.now`` does."""
        return self._calls.call(partial(_result_of, self._context.now))

    def random_id(self) -> str:
        """Do what ``Context.random_id`` does."""
        return self._calls.call(partial(_result_of, self._context.random_id))

    def messages(self) -> Generator[Message, None, None]:
        """Do what ``Context.messages`` does."""
        while (message := self._calls.call(self._turn.take_message)) is not None:
            yield message


async def _result_of(function: Callable[[], T]) -> T:
    """Call a function in the turn's own coroutine."""
    return function()
