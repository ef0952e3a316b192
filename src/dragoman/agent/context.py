"""Context: what a skill may see of its task, and do with it.

It is for coroutines, and thin: the Turn behind it decides what is queued, stored and shown. Plain
functions, which run in a thread, have ``SyncContext``.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

from dragoman import telemetry
from dragoman.agent.client_tools import TOOL_SECONDS, ToolUses, input_of
from dragoman.agent.gathering import Gathering, gathering, no_branch, while_nobody_asks
from dragoman.agent.questions import Question, passed_on
from dragoman.agent.recorded_values import earlier_messages, fresh_id, look_up, time_now
from dragoman.agent.results import Reply, parts_of, reply_of, turn_message
from dragoman.agent.steps import take_step
from dragoman.agent.view import View
from dragoman.errors import InvalidParamsError, NoAnswerError, ToolError, UsageError
from dragoman.extensions.agent_tools.declarations import declaration
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, Task
from dragoman.service.branches import branch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence

    from dragoman.agent.peers import Callee, Peers
    from dragoman.client.results.reply import ReplyView
    from dragoman.model.base import JsonObject
    from dragoman.service.worker import Turn

__all__ = (
    "ASK_TRIES",
    "NO_DEFAULT",
    "Asked",
    "CallKeywords",
    "Context",
    "Default",
    "Seconds",
)


T = TypeVar("T")
Value = TypeVar("Value", Message, Task)
Asked = TypeVar("Asked")
Default = TypeVar("Default")

Seconds: TypeAlias = float | timedelta | None

ASK_TRIES: Final = 5
"""Answers that do not fit before the task fails: a person may err, a broken client errs forever."""

CONVERSATION: Final = 50
"""Messages of earlier tasks, unless another number is asked for."""

NO_DEFAULT: Final = object()
"""Stands for a default that was not given."""


class CallKeywords(TypedDict, total=False):
    """The options of ``Context.call``."""

    skill: str
    timeout: Seconds
    show: bool
    pass_questions: bool
    pass_tools: bool
    share_context: bool
    metadata: JsonObject | None


class Context(View):
    """A task, for a skill that is a coroutine or an async generator.

    Its durable calls (``ask``, ``step``, ``call``, ...) are made one after the other, because their
    results are told apart by their order. UsageError is raised for one that is made while another
    is under way; ``gather`` is the way to have several at once.
    """

    __slots__ = ("_gatherings", "_peers", "_under_way")

    def __init__(self, turn: Turn, peers: Callable[[], Peers] | None = None) -> None:
        """Begin; no durable call is under way."""
        super().__init__(turn)
        self._peers = peers
        # By branch: what is under way, and how many gatherings there were.
        self._under_way: dict[str, str] = {}
        self._gatherings: Counter[str] = Counter()

    async def say(
        self,
        *content: object,
        metadata: JsonObject | None = None,
        extensions: Sequence[str] = (),
    ) -> None:
        """Tell the caller how the work goes; the task goes on working.

        The content becomes parts by the rules of ``Reply``; a ``Reply`` or a ``Message`` is said
        as it is.

        Args:
            metadata: of the message.
            extensions: the addresses of the extensions that the message makes use of.
        """
        await self._tell(turn_message(self._turn, reply_of(content, metadata, extensions)))

    async def heartbeat(self) -> None:
        """Tell the caller that the work goes on: a status update without content."""
        await self._tell()

    async def set_metadata(self, metadata: JsonObject) -> None:
        """Add to the metadata of the task; what is there under the same names is replaced."""
        await self._tell(metadata=metadata)

    async def artifact(
        self,
        value: object,
        *,
        name: str = "",
        artifact_id: str | None = None,
        description: str = "",
        metadata: JsonObject | None = None,
        extensions: Sequence[str] = (),
        append: bool = False,
        last_chunk: bool = False,
    ) -> str:
        """Publish a result, or a chunk of one, and return the id of its artifact.

        The value becomes parts by the rules of return values; an ``Artifact`` is published as it
        is.

        Args:
            artifact_id: the artifact to replace, or with ``append`` to extend; a fresh one if None.
            extensions: the addresses of the extensions that the artifact makes use of.
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
                extensions=tuple(extensions),
            )
        async with while_nobody_asks():
            await self._turn.artifact(value, append=append, last_chunk=last_chunk)
        return value.artifact_id

    @overload
    async def ask(
        self, question: object, *, timeout: Seconds = None, sensitive: bool = False
    ) -> str: ...
    @overload
    async def ask(
        self,
        question: object,
        form: type[Asked],
        *,
        timeout: Seconds = None,
        tries: int = ...,
        sensitive: bool = False,
    ) -> Asked: ...
    @overload
    async def ask(
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
    async def ask(
        self,
        question: object,
        form: object = None,
        *,
        timeout: Seconds = None,
        default: object = ...,
        tries: int = ...,
        sensitive: bool = False,
    ) -> object: ...

    async def ask(
        self,
        question: object,
        form: object = None,
        *,
        timeout: Seconds = None,
        default: object = NO_DEFAULT,
        tries: int = ASK_TRIES,
        sensitive: bool = False,
    ) -> object:
        """Pause the task until the caller answers, and return the answer.

        Without a form that is the text of the answer. With a type (a scalar, an enum, a Literal, a
        dataclass, a Struct, a pydantic model) it is a value of that type, from the answer's data
        part or, for a scalar, from its text; the question then carries the JSON Schema of the form.
        ``Message`` and ``File`` are given as they came. An answer that does not fit is told what is
        wrong with it, and the question is asked again.

        Args:
            timeout: how long to wait for each answer, in seconds or as a timedelta.
            default: what to go on with if none came; without it the task fails then.
            tries: how many answers that do not fit are borne.
            sensitive: the answer is a secret. The task shows a placeholder for it, everywhere and
                for good; the answer itself is kept encrypted, and only until the task ends. What
                your code does with it is up to you: a step that returns it records it.

        Raises:
            NoAnswerError: no answer came in time, and there is no default.
            InvalidParamsError: the last answer did not fit either.
            ToolError: the caller says that it has no answer.
        """
        asked = Question.of((question,), str if form is None else form, sensitive=sensitive)
        fault = ""
        while True:
            name = self._turn.new_id() if sensitive else ""
            message = asked.message(self._turn, name=name, fault=fault)
            try:
                with self._alone("ask"), _traced("ask", ""):
                    answer = await self._put(message, timeout_seconds=_seconds(timeout))
            except NoAnswerError:
                if default is NO_DEFAULT:
                    raise
                return default
            try:
                return asked.read(answer)
            except InvalidParamsError as error:
                tries -= 1
                if tries <= 0:
                    raise
                fault = error.message

    async def use_tool(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        timeout: Seconds = TOOL_SECONDS,
        default: object = NO_DEFAULT,
    ) -> object:
        """Have the caller run one of its ``tools``, and return the result, any JSON.

        The task pauses for it, as it does for ``ask``. The arguments are held against the schema of
        the tool before anybody is asked.

        Args:
            timeout: how long to wait for the result, in seconds or as a timedelta; None for ever.
            default: what to go on with if it did not come; without it the task fails then.

        Raises:
            ToolError: the caller has no such tool, the arguments do not fit, the tool has failed,
                or the caller does not let it run.
            NoAnswerError: no result came in time, and there is no default.
        """
        try:
            (result,) = await self.use_tools(((name, arguments or {}),), timeout=timeout)
        except NoAnswerError:
            if default is NO_DEFAULT:
                raise
            await self.say(f"Continuing without {name}")
            return default
        if isinstance(result, ToolError):
            raise result
        return result

    async def use_tools(
        self,
        uses: Sequence[tuple[str, JsonObject]],
        *,
        timeout: Seconds = TOOL_SECONDS,
    ) -> list[object | ToolError]:
        """Have the caller run several of its tools with one question.

        Used as ``await ctx.use_tools([("read_file", {"path": "a"}), ("now", {})])``. What came of
        each is returned in order, a ``ToolError`` for one that has failed.

        Raises:
            ToolError: the caller has no such tool, or the arguments do not fit; none is run then.
            NoAnswerError: no result came in time.
        """
        if not uses:
            return []
        seconds = _seconds(timeout)
        with self._alone("use_tool"):
            together = ToolUses.of(self._turn, uses)
            parts = tuple(use.part() for use in together.uses)
            message = turn_message(self._turn, Reply(together.prompt, *parts))
            with _traced("execute_tool", together.names):
                try:
                    answer = await self._put(message, timeout_seconds=seconds)
                except NoAnswerError:
                    text = f"The caller has not run {together.names} in the time given for it"
                    raise NoAnswerError(text, timeout_seconds=seconds) from None
        return together.outcomes(answer)

    async def require_auth(
        self,
        *content: object,
        details: JsonObject | None = None,
        timeout: Seconds = None,
        sensitive: bool = True,
    ) -> Message:
        """Pause the task until the caller has authorized it; return the message that resumes it.

        Args:
            details: what a client needs to obtain the authorization, sent as a data part.
            timeout: how long to wait for it, in seconds or as a timedelta.
            sensitive: that message is a secret, as for ``ask``. False if it holds no credentials,
                and may be stored and shown like any other.

        Raises:
            NoAnswerError: it did not come in time.
            ToolError: the caller says that there is none.
            UsageError: it is a secret, and there is no key to keep it under (``secrets_key``).
        """
        if details is not None:
            content = (*content, details)
        message = Question.of(content, Message, sensitive=sensitive).message(self._turn)
        with self._alone("require_auth"):
            answer = await self._put(message, is_auth=True, timeout_seconds=_seconds(timeout))
        return input_of(answer)

    @overload
    async def step(
        self, function: Callable[..., Awaitable[T]], *args: object, name: str | None = None
    ) -> T: ...
    @overload
    async def step(
        self, function: Callable[..., T], *args: object, name: str | None = None
    ) -> T: ...

    async def step(
        self, function: Callable[..., Awaitable[T] | T], *args: object, name: str | None = None
    ) -> T:
        """Call a function and remember what it returned: never again, once that is recorded.

        Until then, a crash has it called again. A function with a parameter ``idempotency_key`` is
        given a text that is the same every time, for services that recognise a repeated request.
        The result must be JSON, or of a type that the function's annotation names; it is given back
        as it was recorded, also the first time. A plain function runs in a thread. What it raises
        is not recorded.

        Args:
            name: of the step; the function's own unless given.

        Raises:
            UsageError: the result cannot be recorded.
        """
        with self._alone("step"), _traced("step", name or getattr(function, "__name__", "")):
            return await take_step(self._turn, function, args, name)

    @overload
    async def call(
        self,
        agent: Callee,
        *content: object,
        **options: Unpack[CallKeywords],
    ) -> ReplyView: ...
    @overload
    async def call(
        self,
        agent: Callee,
        *content: object,
        into: type[T],
        **options: Unpack[CallKeywords],
    ) -> T: ...

    async def call(
        self,
        agent: Callee,
        *content: object,
        into: object = None,
        skill: str = "",
        timeout: Seconds = None,
        show: bool = True,
        pass_questions: bool = True,
        pass_tools: bool = False,
        share_context: bool = False,
        metadata: JsonObject | None = None,
    ) -> object:
        """Have another agent do something for this task, and return what came of it.

        It is a task of its own there, a child of this one: it is told whose (``referenceTaskIds``),
        is canceled with it, and is named in a status message of it. After a crash the same child is
        gone on with. The content is what ``RemoteAgent.send`` takes.

        Args:
            agent: an address, a card, a ``Peer`` with credentials, what ``connect`` gives, or an
                ``Agent`` of this process.
            into: the type that the answer is to be read as; else the answer as it is.
            skill: the skill to use.
            timeout: how long to wait for its end, in seconds or as a timedelta; then it is
                canceled.
            show: tell the caller of this task what the other tells of its progress.
            pass_questions: put to the caller of this task what the other asks, and pass the answer
                on.
            pass_tools: let it ask for the tools of the caller of this task, as this task can.
            share_context: let it work in the context of this task; else it has one of its own.

        Raises:
            TaskNotCompletedError: it failed, was rejected or canceled, or asks something that is
                not to be passed on.
            TimedOutError: it was not done in time.
            A2AError, ClientError: it refused, or could not be asked.
            ValueError: the answer cannot be read as what it should be.
        """
        from dragoman.agent.children import CallOptions, Child  # noqa: PLC0415 - brings the client

        if self._peers is None:
            raise UsageError("ctx.call needs an agent around it that has connections")
        peers = self._peers()
        options = CallOptions(
            skill=skill,
            timeout_seconds=_seconds(timeout),
            shows=show,
            asks=pass_questions,
            shares_context=share_context,
            metadata={**(declaration(self.tools) if pass_tools else {}), **(metadata or {})},
        )
        name = peers.name(agent)
        child = Child(self._turn, peers, name, options, ask=self._put_question, say=self._tell)
        with self._alone("call"), _traced("invoke_agent", name, kind="client"):
            reply = await child.run(content)
        return reply if into is None else reply.as_type(into)

    async def conversation(self, limit: int = CONVERSATION) -> tuple[Message, ...]:
        """Return what was said and given in earlier tasks of the same context, oldest first.

        These are the tasks of the same owner that began before this one, and have ended or wait for
        their caller. The artifacts of a task
        come after its messages, as messages of the agent. It is recorded like a step; within a
        step, as part of that.

        Args:
            limit: how many messages at most; those of the newest tasks are returned.
        """
        return await self._look_up(
            "conversation", str(limit), lambda: earlier_messages(self._turn, limit)
        )

    async def related(self) -> tuple[Task, ...]:
        """Return the tasks that the message refers to (``referenceTaskIds``).

        Those that the owner of this one may not see are left out. It is recorded like
        ``conversation``.
        """
        ids = self.message.reference_task_ids
        return await self._look_up("related", "", lambda: self._turn.find_tasks(ids))

    async def _look_up(
        self, kind: str, name: str, look: Callable[[], Awaitable[tuple[Value, ...]]]
    ) -> tuple[Value, ...]:
        if self._under_way.get(branch.get()) == "step":
            return await look()
        with self._alone(kind):
            return await look_up(self._turn, kind, name, look)

    async def gather(self, *awaitables: Awaitable[T]) -> list[T]:
        """Make durable calls side by side, and return their results in order.

        Used as ``await ctx.gather(ctx.call(a, ...), ctx.call(b, ...), ctx.step(c))``, or with
        coroutines of your own that make such calls. The first that fails ends the others, and is
        raised. ``sleep`` and ``messages`` cannot be used in them.
        """
        strand = branch.get()
        self._gatherings[strand] += 1
        name = f"{strand}/{self._gatherings[strand]}" if strand else f"{self._gatherings[strand]}"
        with self._alone("gather"):
            return await Gathering(self._turn, name).run(awaitables)

    async def sleep(self, seconds: float | timedelta) -> None:
        """Wait. The time to wake is remembered; a crash does not begin the wait anew."""
        no_branch("sleep")
        with self._alone("sleep"):
            await self._turn.sleep(_seconds(seconds) or 0.0)

    def now(self) -> datetime:
        """Return the time, UTC; the same one whenever this turn is run again."""
        with self._alone("now"):
            return time_now(self._turn)

    def random_id(self) -> str:
        """Return a fresh id; the same one whenever this turn is run again."""
        with self._alone("random_id"):
            return fresh_id(self._turn)

    async def messages(self) -> AsyncGenerator[Message, None]:
        """Take up the further messages that callers have sent to this task, until none is left.

        What is not taken up here begins a turn of its own when this one has ended.
        """
        no_branch("messages")
        while True:
            with self._alone("messages"):
                message = await self._turn.take_message()
            if message is None:
                return
            yield message

    async def _tell(
        self, message: Message | None = None, metadata: JsonObject | None = None
    ) -> None:
        async with while_nobody_asks():
            await self._turn.say(message, metadata)

    async def _put(
        self, message: Message, *, is_auth: bool = False, timeout_seconds: float | None = None
    ) -> Message:
        """Ask the caller, through the gathering if this is a branch of one."""
        asker = gathering.get() or self._turn
        return await asker.ask(message, is_auth=is_auth, timeout_seconds=timeout_seconds)

    async def _put_question(self, message: Message, is_auth: bool) -> Message:  # noqa: FBT001 - of a child
        message = passed_on(self._turn, message, is_auth=is_auth)
        return await self._put(message, is_auth=is_auth)

    @contextmanager
    def _alone(self, call: str) -> Generator[None]:
        strand = branch.get()
        under_way = self._under_way.get(strand)
        if under_way:
            raise UsageError(
                f"ctx.{call} was called while ctx.{under_way} is under way; a turn makes its "
                "durable calls one after the other, or together with ctx.gather"
            )
        self._under_way[strand] = call
        try:
            yield
        finally:
            del self._under_way[strand]


def _traced(
    operation: str, name: str, *, kind: Literal["internal", "client"] = "internal"
) -> AbstractContextManager[object]:
    """Make a durable call a span, if anything is traced."""
    if telemetry.active is None:
        return nullcontext()
    attributes = {"gen_ai.operation.name": operation, "a2a.call.name": name}
    return telemetry.active.span(f"{operation} {name}", attributes, kind=kind)


def _seconds(duration: Seconds) -> float | None:
    return duration.total_seconds() if isinstance(duration, timedelta) else duration
