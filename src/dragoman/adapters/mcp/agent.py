"""An MCP server's tools as the skills of an A2A agent.

A skill takes what its tool takes, by the tool's own schema, which the card publishes and messages
are checked by. Progress becomes status messages, what the tool asks is put to the caller, cancel
cancels the call, and what fails fails the task with the words of the tool. Each call is a step: its
result is recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeGuard

from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponses,
    Tool,
)
from msgspec import Struct

from dragoman.adapters.mcp.arguments import Arguments
from dragoman.adapters.mcp.connection import (
    START_SECONDS,
    Connection,
    Place,
    ServerDiedError,
    described,
)
from dragoman.adapters.mcp.contents import parts_of
from dragoman.adapters.skills import AdaptedSkill
from dragoman.agent.agent import Agent
from dragoman.agent.context import ASK_TRIES, Context
from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.agent.results import Failed, Reply
from dragoman.agent.signature import ANY, JSON, TEXT
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.model.cards import AgentSkill
from dragoman.model.messages import Message
from dragoman.model.parts import Part

__all__ = ("agent_from_mcp",)

_PATIENCE_SECONDS: Final = 0.25
"""How long to leave a tool alone that wants to be called again later."""


class _Called(Struct, frozen=True, omit_defaults=True):
    """What came of a call: a result, or what the tool must know before it has one."""

    result: dict[str, Any] | None = None
    required: dict[str, Any] | None = None


def agent_from_mcp(
    server: str | Sequence[str],
    *,
    name: str = "",
    description: str = "",
    tools: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> Agent:
    """Make an A2A agent of an MCP server.

    The server is asked for its tools now, and connected to again when a tool is first called.

    Args:
        server: its address, or the command that starts it and its arguments.
        name: what the server calls itself unless given.
        description: what the server says of itself unless given.
        tools: those to publish; all unless given.
        env: what a command finds in its environment beside what is safe to inherit.
        headers: what goes along with every request to an address.
        options: of ``Agent``.

    Raises:
        UsageError: the server cannot be had, or lacks one of the tools.
    """
    place = Place(server, env=env, headers=headers)
    about, said, found = _ask(place)
    title = name or (about.title or about.name if about is not None else "") or place.name
    served = Agent(title, description or said or (about and about.description) or "", **options)
    connection = Connection(place)
    served.on_shutdown(connection.close)
    for tool in _chosen(found, tools):
        served.add_skill(_skill(connection, tool))
    return served


def _ask(place: Place) -> Any:
    async def ask() -> object:
        async with asyncio.timeout(START_SECONDS):
            return await described(place)

    # On a loop of its own: a module that makes an agent may be imported while one runs.
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(asyncio.run, ask()).result()
        except Exception as problem:
            reason = _first_of(problem)
            raise UsageError(
                f"the MCP server {place.name} cannot be asked for its tools: {reason!r}"
            ) from problem


def _first_of(problem: BaseException) -> BaseException:
    while _is_group(problem):
        problem = problem.exceptions[0]
    return problem


def _is_group(problem: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    return isinstance(problem, BaseExceptionGroup)


def _chosen(found: list[Tool], names: Sequence[str] | None) -> list[Tool]:
    if names is None:
        return found
    by_name = {tool.name: tool for tool in found}
    for name in names:
        if name not in by_name:
            raise UsageError(f"the MCP server has no tool {name!r}; it has {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _skill(connection: Connection, tool: Tool) -> AdaptedSkill:
    calling = _Calling(connection, tool)

    async def call(ctx: Context, message: Message) -> object:
        return await calling.answer(ctx, message)

    title = tool.title or (tool.annotations and tool.annotations.title) or tool.name
    published = AgentSkill(
        id=tool.name,
        name=title,
        description=tool.description or title,
        tags=("mcp",),
        input_modes=(JSON, TEXT),
        output_modes=(TEXT, JSON, ANY),
    )
    hints = tool.annotations
    return AdaptedSkill(
        call,
        published,
        schema=tool.input_schema,
        check=calling.arguments.read,
        # A call that was cut off may have done its work: only what may be done twice is.
        resumes=bool(hints and (hints.read_only_hint or hints.idempotent_hint)),
    )


class _Calling:
    """A tool that is called with what messages say."""

    def __init__(self, connection: Connection, tool: Tool) -> None:
        self.arguments = Arguments(tool.input_schema)
        self._connection = connection
        self._tool = tool.name

    async def answer(self, ctx: Context, message: Message) -> object:
        """Call the tool, asking the caller what it must know."""
        arguments = self.arguments.read(message)
        called = await ctx.step(self._call, ctx, arguments, None, None, name=self._tool)
        while called.required is not None:
            required = InputRequiredResult.model_validate(called.required)
            responses: InputResponses = {}
            for key, request in (required.input_requests or {}).items():
                responses[key] = await _answered(ctx, request)
            if not responses:
                await ctx.sleep(_PATIENCE_SECONDS)
            called = await ctx.step(
                self._call, ctx, arguments, responses, required.request_state, name=self._tool
            )
        result = CallToolResult.model_validate(called.result)
        parts = parts_of(result)
        if result.is_error:
            raise Failed(*parts or (f"{self._tool} has failed",))
        return parts or None

    async def _call(
        self,
        ctx: Context,
        arguments: dict[str, Any],
        responses: InputResponses | None,
        state: str | None,
    ) -> _Called:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            await ctx.say(message or share, metadata={"progress": progress, "total": total})

        try:
            came = await self._connection.call(
                self._tool, arguments, on_progress=tell, responses=responses, state=state
            )
        except (MCPError, ServerDiedError) as problem:
            raise Failed(str(problem)) from problem
        plain = came.model_dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(came, InputRequiredResult):
            return _Called(required=plain)
        return _Called(result=plain)


async def _answered(ctx: Context, request: InputRequest) -> ElicitResult:
    """Put to the caller what a tool asks."""
    if not isinstance(request, ElicitRequest):
        raise Failed(f"The tool asks for {request.method}, which nobody here can do")
    params = request.params
    if isinstance(params, ElicitRequestURLParams):
        await ctx.ask(Reply(params.message, Part(url=params.url)), Message)
        return ElicitResult(action="accept")
    wanted = Arguments(params.requested_schema)
    form = Part(data={"schema": wanted.schema}, media_type=SCHEMA_MEDIA_TYPE)
    question: tuple[object, ...] = (params.message, form)
    for _ in range(ASK_TRIES):
        answer = await ctx.ask(Reply(*question), Message)
        try:
            return ElicitResult(action="accept", content=wanted.read(answer))
        except InvalidParamsError as error:
            question = (error.message, params.message, form)
    return ElicitResult(action="cancel")
