"""Graphs of LangGraph, served over A2A.

What models in the graph write is streamed, tool calls and what nodes write to the stream become
status messages, and an interrupt pauses the task until the caller has answered.

A context is a thread of the graph, and what the graph remembers of it is in its checkpointer. A
graph without one is given one, in the notebook beside the store of the tasks, which survives a
restart as they do. Each run of the graph, from a message or an answer to the next interrupt or the
end, is a step; one that was cut off goes on from the last state that the graph has kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, cast
from weakref import WeakValueDictionary

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs] - its types are in it
from langgraph.types import Command, Interrupt, StateSnapshot
from msgspec import UNSET, Struct
from pydantic import ValidationError
from pydantic.errors import PydanticUserError

from dragoman.adapters.answers import GrowingAnswer, said_in, speaker, words_of
from dragoman.adapters.approvals import Decision, Kind, ToolCall, decide
from dragoman.adapters.langgraph_threads import NotedThreads
from dragoman.adapters.notebook import notebook_beside
from dragoman.adapters.skills import AdaptedSkill
from dragoman.agent.agent import Agent
from dragoman.agent.context import Context
from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.agent.results import Failed, Rejected, Reply
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.model.base import JsonObject, is_array, is_object
from dragoman.model.cards import AgentSkill
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.plain_data import to_plain_data
from dragoman.model.schema import schema_of

__all__ = ("agent_from_langgraph",)

_MESSAGES: Final = "messages"
_RUN: Final = "dragoman_run"
"""Under this name the states of a graph tell the run that they were made in."""


class _Graph(Protocol):
    """What we use of a compiled graph."""

    @property
    def channels(self) -> Mapping[str, object]: ...
    @property
    def checkpointer(self) -> object: ...
    def get_name(self) -> str: ...
    def get_input_jsonschema(self) -> dict[str, Any]: ...
    def copy(self, update: dict[str, Any]) -> _Graph: ...
    async def aget_state(self, config: Any) -> StateSnapshot: ...
    def astream(
        self, given: Any, config: Any, /, *, stream_mode: Sequence[str], durability: str
    ) -> AsyncIterator[tuple[str, Any]]: ...


class _Asked(Struct, frozen=True):
    """An interrupt that waits for its answer."""

    id: str
    value: object
    schema: dict[str, object] | None = None


class _Request(Struct, frozen=True):
    """A tool call that LangChain's ``HumanInTheLoopMiddleware`` asks about."""

    name: str
    args: dict[str, object]
    description: str = ""

    def call(self, allowed: tuple[Kind, ...]) -> ToolCall:
        """Return it as the caller is asked."""
        question = self.description or f"May I call {self.name}?"
        return ToolCall(self.name, self.args, question, allowed)

    def decided(self, decision: Decision) -> JsonObject:
        """Return a decision as the middleware wants it."""
        told: JsonObject = {"type": decision.kind}
        if decision.kind == "edit":
            told["edited_action"] = {"name": self.name, "args": decision.arguments}
        elif decision.message:
            told["message"] = decision.message
        return told


class _Review(Struct, frozen=True):
    """What may be decided about calls of a tool."""

    action_name: str
    allowed_decisions: tuple[Kind, ...]


class _Batch(Struct, frozen=True):
    """The value of the interrupt with which the middleware asks about all calls at once."""

    action_requests: tuple[_Request, ...]
    review_configs: tuple[_Review, ...]


class _Const(Struct, frozen=True):
    const: Kind = "approve"


class _Properties(Struct, frozen=True):
    type: _Const = _Const()


class _Discriminator(Struct, frozen=True):
    mapping: dict[Kind, str] = {}


class _DecisionSchema(Struct, frozen=True):
    """What we read of the JSON Schema of decisions, when it asks about each call by itself."""

    discriminator: _Discriminator = _Discriminator()
    properties: _Properties = _Properties()


class _Run(Struct, frozen=True):
    """What came of one run of the graph.

    Attributes:
        asked: the interrupts it waits for.
        pauses_before: the nodes before which it was told to stop; with neither, it has ended.
        output: its result, unless that was streamed.
        complaint: what is wrong with the answers; they are to be given again.
    """

    asked: tuple[_Asked, ...] = ()
    pauses_before: tuple[str, ...] = ()
    output: object = None
    complaint: str = ""


def agent_from_langgraph(
    graph: object,
    *,
    name: str = "",
    description: str = "",
    read: Callable[[Message], object] | None = None,
    result: Callable[[Any], object] | None = None,
    **options: Any,
) -> Agent:
    """Make an A2A agent of a compiled graph, or of an entrypoint; it has one skill.

    A graph whose state has ``messages`` is given the message as one of these, and its answer is the
    text of the last. Any other graph is given the data of the message as its state, and answers
    with its state.

    Args:
        name: the name of the graph unless given.
        read: makes the input of the graph of a message, instead of that.
        result: makes the answer of the last state, instead of that.
        options: of ``Agent``.

    Raises:
        UsageError: this is no compiled graph, or it has no name.
    """
    if not isinstance(graph, Pregel):
        raise UsageError(f"{graph!r} is no compiled graph; call its compile()")
    compiled = cast("_Graph", graph)
    title = name or compiled.get_name()
    served = Agent(title, description, **options)
    if compiled.checkpointer is None:
        notebook = notebook_beside(title)
        served.on_shutdown(notebook.close)
        compiled = compiled.copy({"checkpointer": NotedThreads(notebook)})
    is_chat = _MESSAGES in compiled.channels
    read = read or (_as_messages if is_chat else _as_state)
    running = _Running(compiled, read, result or (_last_text if is_chat else _all_of_it))

    async def run(ctx: Context, message: Message) -> object:
        return await running.answer(ctx, message)

    published = AgentSkill(id="run", name=title, description=description or title, tags=("run",))
    schema = _schema_of(compiled) if read is _as_state else None
    served.add_skill(AdaptedSkill(run, published, schema=schema, check=read))
    return served


class _Running:
    """A graph that answers messages."""

    def __init__(
        self,
        graph: _Graph,
        read: Callable[[Message], object],
        result: Callable[[Any], object],
    ) -> None:
        self._graph = graph
        self._read = read
        self._result = result
        # A thread is run by one at a time: two would each go on from the same state.
        self._running: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, ctx: Context, message: Message) -> object:
        """Run the graph, asking the caller what its interrupts ask."""
        run = await ctx.step(self._run, ctx, message, self._read(message), (), name="run")
        while run.asked or run.pauses_before:
            go_on: object = None
            if run.asked:
                if run.complaint:
                    await ctx.say(run.complaint)
                answers = [await _answer(ctx, each) for each in run.asked]
                ids = [each.id for each in run.asked]
                go_on = Command(resume=dict(zip(ids, answers, strict=True)))
            elif not await ctx.ask(f"Go on with {', '.join(run.pauses_before)}?", bool):
                raise Rejected("The work was not to go on.")
            run = await ctx.step(self._run, ctx, message, go_on, run.asked, name="run")
        return run.output

    async def _run(
        self,
        ctx: Context,
        message: Message,
        given: object,
        answered: tuple[_Asked, ...],
        idempotency_key: str,
    ) -> _Run:
        """Run the graph until it has ended, or waits for the caller."""
        thread = msgspec.json.encode(speaker(ctx)).decode()
        config: Any = {
            "configurable": {"thread_id": thread},
            "metadata": {_RUN: idempotency_key},
        }
        async with self._running.setdefault(thread, asyncio.Lock()):
            return await self._run_thread(ctx, message, given, answered, config)

    async def _run_thread(
        self,
        ctx: Context,
        message: Message,
        given: object,
        answered: tuple[_Asked, ...],
        config: Any,
    ) -> _Run:
        answer = GrowingAnswer(ctx, message)
        before = await self._graph.aget_state(config)
        is_begun = (before.metadata or {}).get(_RUN) == config["metadata"][_RUN]
        waiting = {each.id for each in before.interrupts}
        if not is_begun and not waiting >= {each.id for each in answered}:
            raise Failed(
                "Another task of the same context has gone on with the conversation meanwhile, "
                "so this answer comes too late"
            )
        if self._read is _as_messages and not before.values and not answered:
            # The thread begins here, but the conversation may have begun elsewhere.
            earlier = [_told(each) for each in await ctx.conversation()]
            given = {_MESSAGES: [*earlier, *cast("Any", given)[_MESSAGES]]}
        # A run that was cut off goes on from the last state, unless it was at its end already.
        if not is_begun or (before.next and not before.interrupts):
            try:
                await self._stream(ctx, answer, None if is_begun else given, config)
            except ValidationError as error:
                # An interrupt with a schema refuses an answer that does not fit, and waits on.
                if not any(each.schema for each in answered):
                    raise
                faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
                return _Run(asked=answered, complaint=f"That does not fit. {'; '.join(faults)}")
        after = await self._graph.aget_state(config)
        if after.interrupts or after.next:
            await answer.take_back()
            asked = tuple(_asked(each) for each in after.interrupts)
            return _Run(asked=asked, pauses_before=() if asked else after.next)
        return _Run(output=await answer.close(self._result(after.values)))

    async def _stream(self, ctx: Context, answer: GrowingAnswer, given: Any, config: Any) -> None:
        """Run the graph, telling the caller of what it does."""
        writing = ""
        events = self._graph.astream(
            given, config, stream_mode=["messages", "updates", "custom"], durability="sync"
        )
        async for mode, event in events:
            if mode == "custom":
                await ctx.say(event if isinstance(event, str) else to_plain_data(event, instead=""))
            elif mode == "updates":
                for tool in _tools_called(event):
                    await answer.take_back()
                    await ctx.say(f"Tool call: {tool}")
            elif isinstance(event[0], AIMessage):
                if event[0].id != writing:
                    await answer.take_back()
                    writing = event[0].id
                # A subclass of str there, which our encoders do not know.
                await answer.add(str(event[0].text))


def _schema_of(graph: _Graph) -> JsonObject | None:
    """Return the JSON Schema of what a graph takes, None if there is none for its types."""
    try:
        return graph.get_input_jsonschema()
    except PydanticUserError:
        # Before Python 3.12, pydantic does not take the TypedDict of typing.
        kind = getattr(getattr(graph, "builder", None), "input_schema", None)
    try:
        return schema_of(kind)
    except TypeError:
        return None


def _tools_called(update: dict[str, object]) -> list[str]:
    """Return the names of the tools that models have called in one step of a graph."""
    names: list[str] = []
    for change in update.values():
        found = change.get(_MESSAGES) if is_object(change) else None
        for each in found if is_array(found) else [found]:
            if isinstance(each, AIMessage):
                names += [call["name"] for call in each.tool_calls]
    return names


def _asked(interrupt: Interrupt[Any]) -> _Asked:
    schema = interrupt.response_schema
    value = to_plain_data(interrupt.value, instead="text")
    return _Asked(interrupt.id, value, schema if isinstance(schema, dict) else None)


async def _answer(ctx: Context, asked: _Asked) -> object:
    """Ask the caller what an interrupt asks, and return what it wants to be told."""
    reviewed = _reviewed(asked)
    if reviewed is None:
        return said_in(await ctx.ask(_question(asked), Message))
    decisions = await decide(ctx, [request.call(allowed) for request, allowed in reviewed])
    told = [each.decided(told) for (each, _), told in zip(reviewed, decisions, strict=True)]
    return told[0] if _is_single(asked) else {"decisions": told}


def _is_single(asked: _Asked) -> bool:
    """Whether the middleware asks about this call by itself."""
    return is_object(asked.value) and asked.value.get("type") == "tool_approval"


def _reviewed(asked: _Asked) -> list[tuple[_Request, tuple[Kind, ...]]] | None:
    """Return the tool calls an interrupt asks about, with what may be decided; None for others."""
    try:
        if _is_single(asked):
            schema = msgspec.convert(asked.schema or {}, _DecisionSchema)
            kinds = tuple(schema.discriminator.mapping) or (schema.properties.type.const,)
            return [(msgspec.convert(asked.value, _Request), kinds)]
        batch = msgspec.convert(asked.value, _Batch)
    except msgspec.ValidationError:
        return None
    allowed = {each.action_name: each.allowed_decisions for each in batch.review_configs}
    return [(each, allowed[each.name]) for each in batch.action_requests if each.name in allowed]


def _question(asked: _Asked) -> Reply:
    content: list[object] = [asked.value]
    if asked.schema is not None:
        content.append(Part(data={"schema": asked.schema}, media_type=SCHEMA_MEDIA_TYPE))
    return Reply(*content)


def _as_messages(message: Message) -> object:
    return {_MESSAGES: [HumanMessage([_block(part) for part in message.parts])]}


def _told(message: Message) -> BaseMessage:
    """Return a message of an earlier task as a graph is told of it."""
    if message.role is Role.USER:
        return HumanMessage([_block(part) for part in message.parts])
    return AIMessage(words_of(message))


def _block(part: Part) -> str | dict[str, object]:
    """Return a part as LangChain has it in messages."""
    if part.text is not None:
        return {"type": "text", "text": part.text}
    if part.data is not UNSET:
        return {"type": "text", "text": msgspec.json.encode(part.data).decode()}
    kind = part.media_type.partition("/")[0]
    block: dict[str, object] = {"type": kind if kind in ("image", "audio", "video") else "file"}
    if part.media_type:
        block["mime_type"] = part.media_type
    if part.raw is not None:
        return {**block, "base64": msgspec.to_builtins(part.raw)}
    return {**block, "url": part.url}


def _as_state(message: Message) -> object:
    for part in message.parts:
        data = part.data
        if is_object(data):
            return data
    raise InvalidParamsError.of("message.parts", "has no data part with an object, the input")


def _last_text(values: Any) -> object:
    said: list[BaseMessage] = values[_MESSAGES]
    return str(said[-1].text) if said else None


def _all_of_it(values: Any) -> object:
    return to_plain_data(values, instead="text")
