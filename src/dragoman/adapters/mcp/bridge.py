"""Bridge: an A2A agent as an MCP server, whose tools are the agent's skills.

A call of a tool is a task. What the agent says meanwhile is progress, its results are the content
of the result, and what it asks is put to the user of the client (elicitation). From protocol
version 2026-07-28 on a call that needs an answer ends with the question; the client calls again
with the answer, and with a note of ours, sealed, that tells the task. Older clients are asked while
the call waits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from dragoman.adapters.mcp.contents import result_of
from dragoman.adapters.mcp.questions import Question
from dragoman.adapters.mcp.tools import tools_of
from dragoman.client.errors import ClientError
from dragoman.errors import A2AError
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from dragoman.client.agent import RemoteAgent
    from dragoman.client.results.reply import AgentReply
    from dragoman.client.results.stream import AgentStream

__all__ = ("bridge",)

_logger = logging.getLogger(__name__)

_KEY: Final = "answer"
"""Under this key stand the one question of a call and its answer."""

_META: Final = "dev.dragoman/task"
"""Under this key a result tells the task that it comes from."""

_PATIENCE_SECONDS: Final = 3600.0
"""How long a question may wait for its answer."""

_CANCEL_SECONDS: Final = 10.0
"""How long to wait for an agent to take notice that a call was canceled."""


class _Waiting(Struct, frozen=True):
    """The task that waits for the answer to a question."""

    task_id: str
    context_id: str


def bridge(agent: RemoteAgent) -> Server[Any]:
    """Return an MCP server that publishes the skills of an agent as tools."""
    calls = _Calls(agent)
    card = agent.card
    server: Server[Any] = Server(
        card.name,
        version=card.version,
        instructions=card.description or None,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
    )
    # What a client brings back is not to be believed, unless it is what it was given.
    security = RequestStateSecurity.ephemeral(ttl=_PATIENCE_SECONDS)
    server.middleware.append(RequestStateBoundary(security, default_audience=card.name))
    return server


class _Calls:
    """Answers the requests of MCP clients."""

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent
        self._tools = tools_of(agent.card)

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """List the skills."""
        del ctx, params
        return ListToolsResult(tools=[each.tool for each in self._tools.values()])

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Have a skill do its work.

        Raises:
            MCPError: there is no such tool.
        """
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        try:
            if params.request_state is not None:
                reply = await self._answered(ctx, params)
            else:
                content = tool.content(params.arguments or {})
                reply = await self._follow(ctx, self._agent.stream(*content, skill=tool.skill_id))
            while reply.needs_input:
                question = Question(reply.message)
                if not _can_ask(ctx) or reply.state is TaskState.AUTH_REQUIRED:
                    return _unanswered(reply, question)
                if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return _question(reply, question)
                answer = await ctx.session.elicit_form(
                    question.text, question.schema, related_request_id=ctx.request_id
                )
                reply = await self._answer(ctx, reply, question, answer)
            return _result(reply)
        except (A2AError, ClientError) as problem:
            return _failed(str(problem))

    async def _answered(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> AgentReply:
        """Take up a call that comes again, with the answer to what was asked."""
        waiting = msgspec.json.decode(params.request_state or "", type=_Waiting)
        reply = await self._agent.task(waiting.task_id, waiting.context_id).get()
        answer = (params.input_responses or {}).get(_KEY)
        if not isinstance(answer, ElicitResult) or not reply.needs_input:
            # Then it is asked once more, or has been answered by somebody else.
            return reply
        return await self._answer(ctx, reply, Question(reply.message), answer)

    async def _answer(
        self,
        ctx: ServerRequestContext[Any],
        reply: AgentReply,
        question: Question,
        answer: ElicitResult,
    ) -> AgentReply:
        if answer.action != "accept":
            return await self._agent.cancel(reply.task_id)
        parts = question.parts(dict(answer.content or {}))
        return await self._follow(ctx, reply.stream_answer(*parts))

    async def _follow(self, ctx: ServerRequestContext[Any], stream: AgentStream) -> AgentReply:
        """Follow a task until it has ended or waits; if the call is canceled, so is the task."""
        # Shielded, because a task of which we do not know yet could not be canceled.
        first = asyncio.ensure_future(anext(stream.events, None))
        told = 0
        try:
            event = await asyncio.shield(first)
            while event is not None:
                if event.state is not None and event.state.is_interrupted:
                    break
                if event.kind == "status" and event.text:
                    told += 1
                    await ctx.session.report_progress(told, message=event.text)
                event = await anext(stream.events, None)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._give_up(first, stream)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
        return stream.reply

    async def _give_up(self, first: asyncio.Future[Any], stream: AgentStream) -> None:
        """Cancel a task for which nobody waits any more."""
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await first
                if stream.task_id:
                    await self._agent.cancel(stream.task_id)
        except (A2AError, ClientError, TimeoutError) as problem:
            _logger.info("task %s was not canceled: %s", stream.task_id, problem)


def _can_ask(ctx: ServerRequestContext[Any]) -> bool:
    wanted = ClientCapabilities(elicitation=ElicitationCapability())
    return ctx.session.check_client_capability(wanted)


def _question(reply: AgentReply, question: Question) -> InputRequiredResult:
    form = ElicitRequestFormParams(message=question.text, requested_schema=question.schema)
    waiting = _Waiting(reply.task_id, reply.context_id)
    return InputRequiredResult(
        input_requests={_KEY: ElicitRequest(params=form)},
        request_state=msgspec.json.encode(waiting).decode(),
    )


def _unanswered(reply: AgentReply, question: Question) -> CallToolResult:
    needs = "authorization" if reply.state is TaskState.AUTH_REQUIRED else "an answer"
    text = f"Task {reply.task_id} waits for {needs}: {question.text}"
    return _failed(text, _meta_of(reply))


def _result(reply: AgentReply) -> CallToolResult:
    meta = _meta_of(reply)
    state, said = reply.state, reply.message
    if state is None or state is TaskState.COMPLETED:
        return result_of(reply.parts, meta)
    if said is None:
        return _failed(f"Task {reply.task_id} was not done: {state.name.lower()}", meta)
    return result_of(said.parts, meta).model_copy(update={"is_error": True})


def _meta_of(reply: AgentReply) -> dict[str, Any]:
    return {_META: {"taskId": reply.task_id, "contextId": reply.context_id}}


def _failed(text: str, meta: dict[str, Any] | None = None) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta=meta)
