"""Children: tasks that other agents do for one of ours.

A turn that is run again goes on with the same child, and its code is told the same of it: what came
of it, or why nothing did. Recorded for that, as entries of the journal:

    call ............ the child has begun: which task it is, and until when it is waited for;
                      or all there is of it: an answer without a task, or why there is none
    call.next ....... what came of it: it asks something, it has ended, or the call has failed
    ask ............. the answer to what it asks, which our own caller has given
    call.next ....... and so on

A failure that the author's code was told of decides what that code does next. So it is recorded
like any other result, and raised again as it was.

The message that begins a child has an id made from its place in the journal, so that an agent which
knows a repeated message again (ours do) begins one child even if we crash before that is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import dragoman.auth.outgoing.errors
import dragoman.client.errors
import dragoman.errors
from dragoman.agent.results import Reply, turn_message
from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.client.errors import ClientError, TimedOutError
from dragoman.client.results.reply import ReplyView
from dragoman.errors import A2AError, DragomanError, FieldViolation, UnsupportedOperationError
from dragoman.model.base import JsonObject
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState

if TYPE_CHECKING:
    from dragoman.agent.peers import Peers
    from dragoman.client.agent import RemoteAgent
    from dragoman.client.results.sending import SendOptions
    from dragoman.client.results.stream import AgentEvent, AgentStream
    from dragoman.service.worker import Turn

__all__ = (
    "CALL",
    "CHILD_ERRORS",
    "MOST_CALLS",
    "NEXT",
    "SUB_TASKS",
    "Begun",
    "CallOptions",
    "Child",
    "Failure",
    "Lineage",
    "News",
    "SubTask",
    "cancel_children",
    "decode_begun",
    "decode_news",
    "encode",
    "lineage_of",
    "sub_task_of",
)

_logger = logging.getLogger(__name__)

# --- what travels with a call ---------------------------------------------------------------------


SUB_TASKS: Final = "https://dragoman.dev/extensions/sub-tasks/v1"
"""The address of the extension, and the key of its metadata."""

MOST_CALLS: Final = 8
"""How deep calls may be nested. Agents that call each other in a circle come to an end by it."""


class Lineage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who called whom, and until when, as it travels with a message to another agent.

    It is an entry of the message's metadata, under the address of the extension. Agents that do not
    know it ignore it.

    Attributes:
        path: the agents above the one that is called, the first caller first.
        parent_task_id: the task that makes the call.
        deadline_ms: when the caller stops waiting, in milliseconds since the Unix epoch; 0 for
            never.
    """

    path: tuple[str, ...] = ()
    parent_task_id: str = ""
    deadline_ms: int = 0

    def calling(self, agent: str, task_id: str, deadline_ms: int) -> Lineage:
        """Return the lineage of a call that ``agent`` makes for one of its tasks.

        Raises:
            UnsupportedOperationError: that would be one too many.
        """
        if len(self.path) >= MOST_CALLS:
            raise UnsupportedOperationError(
                f"Agents call each other {MOST_CALLS} deep already ({' > '.join(self.path)}); "
                "perhaps in a circle"
            )
        deadlines = [each for each in (self.deadline_ms, deadline_ms) if each]
        return Lineage(
            path=(*self.path, agent),
            parent_task_id=task_id,
            deadline_ms=min(deadlines, default=0),
        )

    def metadata(self) -> JsonObject:
        """Return it as an entry of a message's metadata."""
        return {SUB_TASKS: msgspec.to_builtins(self)}


class SubTask(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A task that another does for this one, as a status message tells of it.

    Attributes:
        agent: what the other is called here.
        url: where it can be asked; "" for one in the same process.
        state: where its task stood, "" if it had just begun.
    """

    agent: str
    task_id: str
    url: str = ""
    state: str = ""

    def metadata(self) -> JsonObject:
        """Return it as an entry of a message's metadata."""
        return {SUB_TASKS: {"subTask": msgspec.to_builtins(self)}}


class _Entry(Struct, rename="camel"):
    sub_task: SubTask | None = None


def lineage_of(metadata: JsonObject | None) -> Lineage:
    """Read where a message comes from; what is not as it should be counts as nothing."""
    try:
        return msgspec.convert((metadata or {}).get(SUB_TASKS, {}), Lineage)
    except msgspec.ValidationError:
        return Lineage()


def sub_task_of(metadata: JsonObject | None) -> SubTask | None:
    """Read which sub-task a message tells of, None if none."""
    try:
        return msgspec.convert((metadata or {}).get(SUB_TASKS, {}), _Entry).sub_task
    except msgspec.ValidationError:
        return None


# --- what is recorded -----------------------------------------------------------------------------


CALL: Final = "call"
NEXT: Final = "call.next"

CHILD_ERRORS: Final = (A2AError, ClientError, CredentialsError)
"""With these an agent refuses, or cannot be asked. The store of our own turn has some of them too:
only where they come from tells."""

_KINDS: Final[dict[str, type[DragomanError]]] = {
    name: kind
    for module in (dragoman.errors, dragoman.client.errors, dragoman.auth.outgoing.errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, CHILD_ERRORS)
}

_Value: TypeAlias = str | float | bool | dict[str, str] | tuple[str | tuple[str, ...], ...] | None
"""What the attributes of these errors are, but for the violations."""


class Failure(Struct, frozen=True, omit_defaults=True):
    """A call that was refused, could not be made or was not done in time: the error it ended with.

    Attributes:
        kind: its class, or the nearest above that which is one of ours.
        values: its attributes.
    """

    kind: str
    text: str
    violations: tuple[FieldViolation, ...] = ()
    values: dict[str, _Value] = {}

    @classmethod
    def of(cls, problem: DragomanError) -> Failure:
        """Keep what there is to see of an error."""
        ours = (kind for kind in type(problem).__mro__ if _KINDS.get(kind.__name__) is kind)
        values = {name: value for name, value in vars(problem).items() if _is_kept(name, value)}
        violations = problem.violations if isinstance(problem, A2AError) else ()
        return cls(next(ours).__name__, str(problem), violations, values)

    def error(self) -> DragomanError:
        """Return the error again."""
        kind = _KINDS.get(self.kind, ClientError)
        # Its own __init__ would make the text anew, from what it does not keep.
        error = kind.__new__(kind, self.text)
        if isinstance(error, A2AError):
            A2AError.__init__(error, self.text, violations=self.violations)
        for name, value in self.values.items():
            setattr(error, name, value)
        return error


class News(Struct, frozen=True, omit_defaults=True):
    """What came of a child: what it asks, how it ended (as a stream would show it), or a failure.

    A child whose call has failed may be at work all the same.
    """

    asked: Message | None = None
    is_auth: bool = False
    ended: StreamResponse | None = None
    failed: Failure | None = None


class Begun(Struct, frozen=True, omit_defaults=True):
    """A child that has begun; without a task, ``at_once`` is all that came of it."""

    task_id: str = ""
    context_id: str = ""
    deadline_ms: int = 0
    at_once: News | None = None


encode: Final = msgspec.json.Encoder().encode
decode_begun: Final = msgspec.json.Decoder(Begun).decode
decode_news: Final = msgspec.json.Decoder(News).decode


def _is_kept(name: str, value: object) -> bool:
    """Tell whether an attribute goes with the values; of a class not ours it may be anything."""
    if name.startswith("_") or name == "violations":
        return False
    try:
        msgspec.convert(value, _Value)
    except msgspec.ValidationError:
        return False
    return True


# --- the call -------------------------------------------------------------------------------------


_CANCEL_SECONDS: Final = 10.0
"""How long to wait for a child to take notice that nobody waits for it any more."""

Ask = Callable[[Message, bool], Awaitable[Message]]
"""ask(message, is_auth): ask our own caller."""

Say = Callable[[Message], Awaitable[None]]


class CallOptions(Struct, frozen=True, kw_only=True):
    """How to call.

    Attributes:
        skill: the skill to use, as agents of ours read it.
        timeout_seconds: how long to wait for the end; then the child is canceled.
        shows: tell our own caller what the child tells.
        asks: put to our own caller what the child asks.
        shares_context: let the child work in the context that we work in.
        metadata: of the message.
    """

    skill: str = ""
    timeout_seconds: float | None = None
    shows: bool = True
    asks: bool = True
    shares_context: bool = False
    metadata: dict[str, object] = {}


class _ChildError(Exception):
    """What has gone wrong with the child, and not with our own turn or its store."""

    def __init__(self, problem: DragomanError) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Child:
    """One call of another agent."""

    def __init__(
        self, turn: Turn, peers: Peers, name: str, options: CallOptions, *, ask: Ask, say: Say
    ) -> None:
        """Prepare to call the agent of this name."""
        self._turn = turn
        self._peers = peers
        self._name = name
        self._options = options
        self._ask = ask
        self._say = say
        self._begun = Begun()
        # What has gone wrong in this run, if anything has.
        self._problem: DragomanError | None = None

    async def run(self, content: Sequence[object]) -> ReplyView:
        """Return what came of the call; it is recorded, and so is what is raised here.

        Raises:
            TaskNotCompletedError: the child failed, was rejected or canceled, or asks something
                that nobody is to be asked.
            TimedOutError: it was not done in time, and is canceled.
            A2AError, ClientError, CredentialsError: it refused, or could not be called.
        """
        turn = self._turn
        recorded = turn.recall(CALL, self._name)
        stream: AgentStream | None = None
        try:
            if recorded is None:
                stream = await self._begin(content)
            else:
                self._begun = decode_begun(recorded)
            news = self._begun.at_once
            if news is None:
                news = await self._see_through(stream, is_resumed=recorded is not None)
        except asyncio.CancelledError:
            if turn.is_given_up:
                await self._cancel()
            raise
        if news.failed is not None:
            # As it will be when it is recalled, also the first time.
            raise news.failed.error() from self._problem
        reply = ReplyView(_outcome_of(news))
        reply.raise_for_state()
        return reply

    async def _see_through(self, stream: AgentStream | None, *, is_resumed: bool) -> News:
        """Go on until nothing more comes, putting what the child asks to our own caller."""
        answered: tuple[Message, Message] | None = None
        while True:
            recorded = self._turn.recall(NEXT, self._name)
            if recorded is None:
                try:
                    if answered is not None:
                        stream = await self._answer(*answered, is_resumed=is_resumed)
                    else:
                        # In the log for good, so that whoever has this task finds the other. A run
                        # that goes on from here says it too: the one before may have come to the
                        # record of the call and no further. The turn knows whether it was said.
                        await self._tell((Part(text=f"Asked {self._name}"),))
                    news = await self._watch(stream)
                except _ChildError as failed:
                    news = await self._failure(failed)
                await self._turn.record(NEXT, self._name, encode(news))
            else:
                news = decode_news(recorded)
            if news.asked is None:
                return news
            answer = await self._ask(self._question(news.asked), news.is_auth)
            answered = (news.asked, answer)

    async def _begin(self, content: Sequence[object]) -> AgentStream | None:
        """Begin the child, and record which task it is, or that there is none."""
        stream: AgentStream | None = None
        try:
            stream = await self._send(content)
        except _ChildError as failed:
            self._begun = Begun(at_once=await self._failure(failed))
        await self._turn.record(CALL, self._name, encode(self._begun))
        return stream

    async def _send(self, content: Sequence[object]) -> AgentStream:
        """Send the message that begins the child, and wait until something comes of it."""
        turn, options = self._turn, self._options
        deadline_ms = 0
        if options.timeout_seconds is not None:
            deadline_ms = turn.now_ms() + round(1000 * options.timeout_seconds)
        own = lineage_of(turn.history()[0].metadata)
        with _of_child():
            lineage = own.calling(self._peers.own_name, turn.task_id, deadline_ms)
        sending: SendOptions = {
            "message_id": turn.call_key(self._name),
            "reference_task_ids": (turn.task_id,),
            "metadata": {**options.metadata, **lineage.metadata()},
            "skill": options.skill,
        }
        if options.shares_context:
            sending["context_id"] = turn.context_id
        # What the child is told, and the task that it is told of, must not be lost when it is not.
        await turn.flush()
        with _of_child():
            stream = (await self._connected()).stream(*content, **sending)
        async with _until(turn, lineage.deadline_ms, self._name):
            while (event := await self._next_event(stream)) is not None:
                if stream.task_id or event.value.message is not None:
                    break
        reply = stream.reply
        at_once: News | None = None
        if reply.task is None:
            # With the call in one record: there is no task to ask for it again.
            at_once = self._news(reply)
            await stream.aclose()
        self._begun = Begun(reply.task_id, reply.context_id, lineage.deadline_ms, at_once)
        return stream

    async def _watch(self, stream: AgentStream | None) -> News:
        """Follow the child until it asks something or ends."""
        if stream is None:
            with _of_child():
                agent = await self._connected()
            stream = agent.task(self._begun.task_id, self._begun.context_id).stream()
        is_asking = bool(stream.task_id) and stream.reply.needs_input
        async with _until(self._turn, self._begun.deadline_ms, self._name), stream:
            while not is_asking and (event := await self._next_event(stream)) is not None:
                is_asking = event.state is not None and event.state.is_interrupted
                if self._options.shows and event.value.status_update is not None:
                    await self._tell(event.parts, event.state)
        return self._news(stream.reply)

    async def _next_event(self, stream: AgentStream) -> AgentEvent | None:
        """Wait for the next event, without the slot that others may have meanwhile."""
        async with self._turn.away():
            with _of_child():
                return await anext(stream.events, None)

    def _news(self, reply: ReplyView) -> News:
        outcome = reply.outcome
        if isinstance(outcome, Message):
            return News(ended=StreamResponse(message=outcome))
        if not (reply.needs_input and self._options.asks):
            return News(ended=StreamResponse(task=outcome))
        unsaid = Reply(f"{self._name} needs something, and does not say what")
        asked = outcome.status.message or turn_message(self._turn, unsaid)
        return News(asked=asked, is_auth=reply.state is TaskState.AUTH_REQUIRED)

    async def _answer(
        self, asked: Message, answer: Message, *, is_resumed: bool
    ) -> AgentStream | None:
        """Send the answer to what the child has asked, unless an earlier run has done so."""
        with _of_child():
            agent = await self._connected()
            if is_resumed and not await self._still_asks(agent, asked):
                return None
        begun = self._begun
        return agent.stream(
            *answer.parts,
            task_id=begun.task_id,
            context_id=begun.context_id,
            message_id=self._turn.call_key(self._name),
        )

    async def _still_asks(self, agent: RemoteAgent, asked: Message) -> bool:
        now = await agent.task(self._begun.task_id, self._begun.context_id).get()
        said = now.message
        return now.needs_input and (said is None or said.message_id == asked.message_id)

    def _question(self, asked: Message) -> Message:
        """Return what the child asks as a message of ours."""
        told = self._sub_task(TaskState.INPUT_REQUIRED).metadata()
        reply = Reply(*asked.parts, metadata={**(asked.metadata or {}), **told})
        return self._referring(reply)

    async def _tell(self, parts: tuple[Part, ...], state: TaskState | None = None) -> None:
        """Tell our own caller of the child."""
        if parts:
            told = Reply(*parts, metadata=self._sub_task(state).metadata())
            await self._say(self._referring(told))

    def _referring(self, reply: Reply) -> Message:
        """Return a message that refers to the task of the child: so clients know the two belong."""
        child = (self._begun.task_id,) if self._begun.task_id else ()
        return replace(turn_message(self._turn, reply), reference_task_ids=child)

    def _sub_task(self, state: TaskState | None) -> SubTask:
        return SubTask(
            agent=self._name,
            task_id=self._begun.task_id,
            url=self._peers.url(self._name),
            state=state.value if state is not None else "",
        )

    async def _connected(self) -> RemoteAgent:
        return await self._peers.agent(self._name, self._turn)

    async def _failure(self, failed: _ChildError) -> News:
        """Return what is recorded of a call that has failed."""
        self._problem = failed.problem
        if isinstance(failed.problem, TimedOutError) and self._turn.is_given_up:
            # Before it is recorded: no later run would see to it.
            await self._cancel()
        return News(failed=Failure.of(failed.problem))

    async def _cancel(self) -> None:
        if self._begun.task_id:
            await _cancel(self._peers, self._turn, self._name, self._begun.task_id)


async def cancel_children(turn: Turn, peers: Peers) -> None:
    """Cancel the children of a turn that was canceled, as far as they are not known to have ended.

    One whose call has failed may be at work.
    """
    left: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in turn.recorded:
        if entry.kind == CALL:
            left[entry.branch, entry.name].append(decode_begun(entry.result).task_id)
        elif entry.kind == NEXT and decode_news(entry.result).ended is not None:
            left[entry.branch, entry.name].pop()
    async with asyncio.TaskGroup() as group:
        for (_, name), task_ids in left.items():
            for task_id in filter(None, task_ids):
                group.create_task(_cancel(peers, turn, name, task_id))


async def _cancel(peers: Peers, turn: Turn, name: str, task_id: str) -> None:
    """Cancel a child; that it cannot be done, or has ended, is no trouble of ours."""
    try:
        async with asyncio.timeout(_CANCEL_SECONDS):
            await (await peers.agent(name, turn)).cancel(task_id)
    except (*CHILD_ERRORS, TimeoutError) as problem:
        _logger.info("task %s of %s was not canceled: %s", task_id, name, problem)


@contextmanager
def _of_child() -> Generator[None]:
    """Tell what goes wrong in here from what goes wrong with our own turn."""
    try:
        yield
    except CHILD_ERRORS as problem:
        raise _ChildError(problem) from problem


@asynccontextmanager
async def _until(turn: Turn, deadline_ms: int, name: str) -> AsyncGenerator[None]:
    """Stop what is done in here at a time, 0 being never: the child has failed by that."""
    if not deadline_ms:
        yield
        return
    limit = asyncio.timeout(max(0.0, (deadline_ms - turn.now_ms()) / 1000))
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        problem = TimedOutError(f"{name} was not done in the time it was given")
        raise _ChildError(problem) from None


def _outcome_of(news: News) -> Task | Message:
    outcome = None if news.ended is None else news.ended.task or news.ended.message
    assert outcome is not None  # noqa: S101 - one of the two it is
    return outcome
