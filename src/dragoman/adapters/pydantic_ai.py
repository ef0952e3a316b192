"""Agents of pydantic-ai, served over A2A.

What the model writes is streamed. Tool calls become status messages. A tool that needs approval, or
that is run elsewhere, pauses the task until the caller has answered. Every run of the model is a
step: once it has come to an end it is not repeated after a crash.

pydantic-ai itself keeps no history. It is kept here, by context, in the notebook beside the store
of the tasks, so that it survives a restart as they do. A task that fails or is canceled leaves
nothing in it. Where it has nothing of a context, the tasks of that context are told instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Struct
from pydantic_ai import (
    AgentRunResult,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    AudioUrl,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from dragoman.adapters.answers import GrowingAnswer, said_in, speaker, words_of
from dragoman.adapters.approvals import ToolCall, decide
from dragoman.adapters.notebook import QUERIES, Notebook, notebook_beside
from dragoman.adapters.skills import AdaptedSkill
from dragoman.agent.agent import Agent
from dragoman.agent.context import Context
from dragoman.agent.results import Reply
from dragoman.errors import ToolError, UsageError
from dragoman.model.base import is_array
from dragoman.model.cards import AgentSkill
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES, to_plain_data

__all__ = (
    "Conversations",
    "NotedConversations",
    "agent_from_pydantic_ai",
)


AnyAgent: TypeAlias = AbstractAgent[Any, Any]

_URLS: Final = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl}
"""The kinds of addresses that models take, by the first half of their media types."""


class _Pending(Struct, frozen=True):
    """A tool call that waits for the caller: for approval, or for its result."""

    id: str
    name: str
    arguments: dict[str, object]
    needs_approval: bool


class _Run(Struct, frozen=True):
    """What came of one run of the model.

    Attributes:
        key: names the run, the same whenever it is tried.
        entries: how much of the conversation went before.
        messages: what the run has added to it, as pydantic-ai writes it; the first of a context
            adds what earlier tasks tell.
        pending: what it waits for; else it has ended.
        output: its result, unless that was streamed.
    """

    key: str
    entries: int
    messages: msgspec.Raw
    pending: tuple[_Pending, ...] = ()
    output: object = None


def agent_from_pydantic_ai(
    agent: AnyAgent,
    *,
    name: str = "",
    description: str = "",
    deps: Callable[[Context], object] | None = None,
    history: Conversations | None = None,
    **options: Any,
) -> Agent:
    """Make an A2A agent of an agent of pydantic-ai; it has one skill.

    Args:
        name: the name of the agent unless given.
        deps: makes the dependencies of a run, of the context of its task.
        history: where conversations are kept; the notebook beside the store unless given.
        options: of ``Agent``.

    Raises:
        UsageError: this is no such agent, or it has no name.
    """
    if not isinstance(agent, AbstractAgent):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise UsageError(f"{agent!r} is no agent of pydantic-ai")
    title = name or agent.name or ""
    if not title:
        raise UsageError("the agent has no name: say Agent.from_pydantic_ai(agent, name=...)")
    served = Agent(title, description, **options)
    if history is None:
        notebook = notebook_beside(title)
        served.on_shutdown(notebook.close)
        history = NotedConversations(notebook)
    conversing = _Conversing(agent, deps, history)

    async def converse(ctx: Context, message: Message) -> object:
        return await conversing.answer(ctx, message)

    published = AgentSkill(
        id="converse", name=title, description=description or title, tags=("converse",)
    )
    served.add_skill(AdaptedSkill(converse, published))
    return served


class _Conversing:
    """An agent of pydantic-ai that answers messages."""

    def __init__(
        self,
        agent: AnyAgent,
        deps: Callable[[Context], object] | None,
        history: Conversations,
    ) -> None:
        self._agent = agent
        self._deps = deps
        self._history = history
        outputs: object = agent.output_type
        listed = list(outputs) if is_array(outputs) else [outputs]
        if DeferredToolRequests not in listed:
            listed.append(DeferredToolRequests)
        self._outputs: Any = listed

    async def answer(self, ctx: Context, message: Message) -> object:
        """Have the model answer, asking the caller what it must know for that."""
        runs = [await ctx.step(self._run, ctx, message, (), None, name="run")]
        while runs[-1].pending:
            results = DeferredToolResults()
            for call in runs[-1].pending:
                if call.needs_approval:
                    results.approvals[call.id] = await _decided(ctx, call)
                else:
                    results.calls[call.id] = await _done_elsewhere(ctx, call)
            runs.append(await ctx.step(self._run, ctx, message, tuple(runs), results, name="run"))
        said = [each for run in runs for each in _read(run.messages)]
        entry = ModelMessagesTypeAdapter.dump_json(said)
        await self._history.add(speaker(ctx), runs[0].key, entry)
        return runs[-1].output

    async def _run(
        self,
        ctx: Context,
        message: Message,
        earlier: tuple[_Run, ...],
        results: DeferredToolResults | None,
        idempotency_key: str,
    ) -> _Run:
        """Run the model until it has an answer, or waits for the caller."""
        # What others add to the conversation meanwhile is not for this task.
        most = earlier[0].entries if earlier else -1
        entries = await self._history.read(speaker(ctx), most)
        history = [said for entry in entries for said in _read(entry)]
        # Nothing was kept here, be it on this machine or by this agent: what the tasks tell.
        told = _told(await ctx.conversation()) if not (entries or earlier) else []
        history += told
        for run in earlier:
            history += _read(run.messages)
        answer = GrowingAnswer(ctx, message)
        prompt = None if earlier else _prompt(message.parts)
        outcome = await self._streamed(ctx, answer, prompt, history, results)
        output: object = outcome.output
        pending: tuple[_Pending, ...] = ()
        if isinstance(output, DeferredToolRequests):
            await answer.take_back()
            pending, output = _pending(output), None
        else:
            output = await answer.close(_plain(output))
        return _Run(
            key=earlier[0].key if earlier else idempotency_key,
            entries=len(entries),
            messages=msgspec.Raw(
                ModelMessagesTypeAdapter.dump_json([*told, *outcome.new_messages()])
            ),
            pending=pending,
            output=output,
        )

    async def _streamed(
        self,
        ctx: Context,
        answer: GrowingAnswer,
        prompt: Sequence[UserContent] | None,
        history: list[ModelMessage],
        results: DeferredToolResults | None,
    ) -> AgentRunResult[Any]:
        """Run the model, telling the caller of what it does."""
        streaming = self._agent.run_stream_events(
            prompt,
            message_history=history or None,
            deferred_tool_results=results,
            output_type=self._outputs,
            deps=self._deps(ctx) if self._deps is not None else None,
            conversation_id=ctx.context_id,
        )
        async with streaming as events:
            async for event in events:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    await answer.add(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    await answer.add(event.delta.content_delta)
                elif isinstance(event, FunctionToolCallEvent):
                    await answer.take_back()
                    await ctx.say(f"Tool call: {event.part.tool_name}")
            outcome = events.result
        assert outcome is not None  # noqa: S101 - what fails raises
        return outcome


def _told(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return messages of earlier tasks as a model is told of them: in words, without its tools."""
    return [
        ModelRequest(parts=[UserPromptPart(_prompt(each.parts))])
        if each.role is Role.USER
        else ModelResponse(parts=[TextPart(words_of(each))])
        for each in messages
    ]


def _pending(requests: DeferredToolRequests) -> tuple[_Pending, ...]:
    def pending(call: ToolCallPart, *, needs_approval: bool) -> _Pending:
        arguments = call.args_as_dict()
        return _Pending(call.tool_call_id, call.tool_name, arguments, needs_approval)

    return (
        *(pending(call, needs_approval=True) for call in requests.approvals),
        *(pending(call, needs_approval=False) for call in requests.calls),
    )


async def _done_elsewhere(ctx: Context, call: _Pending) -> object:
    """Have the caller run a tool: as one of those it has declared, or else by asking for it."""
    if all(tool.name != call.name for tool in ctx.tools):
        return said_in(await ctx.ask(_errand(call), Message))
    try:
        return await ctx.use_tool(call.name, call.arguments)
    except ToolError as error:
        return ToolFailed(str(error))


async def _decided(ctx: Context, call: _Pending) -> ToolApproved | ToolDenied:
    """Have the caller approve a tool call, change its arguments, or deny it and say why."""
    question = f"May I call {call.name}?"
    asked = ToolCall(call.name, call.arguments, question, ("approve", "edit", "reject"))
    (decision,) = await decide(ctx, [asked])
    if decision.kind == "reject":
        return ToolDenied(decision.message) if decision.message else ToolDenied()
    return ToolApproved(override_args=decision.arguments)


def _errand(call: _Pending) -> Reply:
    return Reply(
        f"Please run {call.name} and tell me the result.",
        {"tool": call.name, "arguments": call.arguments},
    )


def _read(messages: msgspec.Raw | bytes) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(bytes(messages))


def _plain(output: object) -> object:
    """Return the output as what a skill may return, and a journal can keep."""
    return output if isinstance(output, str) else to_plain_data(output, instead="text")


def _prompt(parts: Sequence[Part]) -> list[UserContent]:
    return [_content(part) for part in parts]


def _content(part: Part) -> UserContent:
    if part.text is not None:
        return part.text
    if part.raw is not None:
        return BinaryContent(part.raw, media_type=part.media_type or BYTES)
    if part.url is not None:
        kind = _URLS.get(part.media_type.partition("/")[0], DocumentUrl)
        return kind(part.url, media_type=part.media_type or None)
    data = part.data if part.data is not UNSET else None
    return msgspec.json.encode(data).decode()


class Conversations(Protocol):
    """What was said, by conversation: entries, each as a framework has written it.

    An entry is what one task has added. Tasks of the same conversation that run side by side do not
    see each other's; they stand in the order in which they ended.
    """

    async def read(self, conversation: tuple[str, ...], most: int = -1) -> list[bytes]:
        """Return the entries, oldest first; no more than ``most``, unless that is negative."""
        ...

    async def add(self, conversation: tuple[str, ...], run: str, entry: bytes) -> None:
        """Add an entry, durably. One that is added again under the same run stays as it is."""
        ...


class NotedConversations:
    """Conversations in a notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    async def read(self, conversation: tuple[str, ...], most: int = -1) -> list[bytes]:
        """Return the entries, oldest first."""
        key = _key(conversation)
        rows = await self._notebook.run(
            lambda connection: connection.execute(QUERIES["read_said"], (key, most)).fetchall()
        )
        return [row[0] for row in rows]

    async def add(self, conversation: tuple[str, ...], run: str, entry: bytes) -> None:
        """Add an entry, unless it is there."""
        values = (_key(conversation), run, entry)
        await self._notebook.run(lambda connection: connection.execute(QUERIES["add_said"], values))


def _key(conversation: tuple[str, ...]) -> str:
    return msgspec.json.encode(conversation).decode()
