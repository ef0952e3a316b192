"""Agent: what an author says about an agent.

``dragoman.agent.worker`` runs its skills. Where and how it is served is the business of
``dragoman.server``.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast, overload

from dragoman.agent.adapter_loading import AGENT_ADAPTERS
from dragoman.agent.signature import TEXT
from dragoman.agent.skill import CancelHook, Skill
from dragoman.agent.sync_context import DEFAULT_THREADS, Threads
from dragoman.agent.worker import AgentWorker, EventHook, Hooks, Skills
from dragoman.bindings.rest import RESERVED_SEGMENTS
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.model.cards import AgentExtension, AgentProvider, AgentSkill
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.messages import Message

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from dragoman.auth.incoming.combining import Alternative
    from dragoman.extensions.base import Presence
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard
    from dragoman.server.admission.authorization import Policy, Sharing
    from dragoman.server.app import App
    from dragoman.service.service import A2AService
    from dragoman.service.worker import Outcome, Turn

__all__ = ("Agent",)

_LOOKS: Final = re.compile(r"(?:get|list|search|health)(?![a-z])").match
_CLIENT_TOOLS: Final = AgentExtension(
    uri=CLIENT_TOOLS, description="The agent may ask for tools that its caller has declared."
)

Function = TypeVar("Function", bound=Callable[..., object])
RouteFunction = TypeVar("RouteFunction", bound=Callable[[Message], object])
ASGIApp = Callable[
    [
        MutableMapping[str, object],
        Callable[[], Awaitable[MutableMapping[str, object]]],
        Callable[[MutableMapping[str, object]], Awaitable[None]],
    ],
    Awaitable[None],
]

Hook = TypeVar("Hook", bound=Callable[[], object])
Cleanup = TypeVar("Cleanup", bound=CancelHook)
Revision = TypeVar("Revision", bound=EventHook)


class Agent:
    """An agent: a name, a description, and functions marked as skills.

    Args:
        provider: who runs it; ``(organization, url)`` will do.
        tenants: the tenants it serves beside the default one.
        client_tools: say in the card that it uses the tools of its callers (``ctx.use_tool``).
        input_modes: media types that skills take by default, beside what their parameters can be
            made of; a skill with ``input_modes`` of its own takes only those.
        output_modes: media types that skills give by default, in the same way.
        streaming: whether callers may follow the work as it goes.
        extended_card: whether callers who authenticate get a card of what they may use.
        presence: the agent as another system knows it; its card says what that says of it.
        auth: the ways for a caller to show who it is, any one of which will do. The card lists
            them. ``AllOf`` makes one way of several. Without any, only callers on the same machine
            are served.
        authorize: asked before everything that a caller wants to do; see ``AccessRequest``. It may
            be a coroutine function. It restricts what callers may do, and cannot open to them what
            somebody else owns.
        share: asked before that, with the same; it names the owner in whose records the caller
            works, so that those for whom it gives the same name share their tasks. None leaves the
            caller with its own.
        threads: how many plain functions may run at once.

    Attributes:
        worker: what runs the skills, for servers.
    """

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        version: str = "1.0.0",
        provider: AgentProvider | tuple[str, str] | None = None,
        documentation_url: str | None = None,
        icon_url: str | None = None,
        tenants: Sequence[str] = (),
        extensions: Sequence[AgentExtension] = (),
        client_tools: bool = False,
        input_modes: Sequence[str] | None = None,
        output_modes: Sequence[str] | None = None,
        streaming: bool = True,
        extended_card: bool = False,
        presence: Presence | None = None,
        auth: Sequence[Alternative] = (),
        authorize: Policy | None = None,
        share: Sharing | None = None,
        threads: int = DEFAULT_THREADS,
        clock: Clock | None = None,
    ) -> None:
        """Say what the card will say.

        Raises:
            UsageError: the name is empty, or a tenant has a name we need.
        """
        if not name:
            raise UsageError("an Agent needs a name")
        self.name: Final = name
        self.description: Final = description
        self.version: Final = version
        self.provider: Final = _provider_of(provider)
        self.documentation_url: Final = documentation_url
        self.icon_url: Final = icon_url
        self.tenants: Final = _checked_tenants(tenants)
        self.extensions: Final = (*extensions, *((_CLIENT_TOOLS,) if client_tools else ()))
        self.streaming: Final = streaming
        self.extended_card: Final = extended_card
        self.presence: Final = presence
        self.auth: Final = tuple(auth)
        self.authorize: Final = authorize
        self.share: Final = share
        self._input_modes = None if input_modes is None else tuple(input_modes)
        self._output_modes = None if output_modes is None else tuple(output_modes)
        self._threads = Threads(threads)
        self._skills = Skills()
        self._hooks = Hooks()
        self.worker: Final = AgentWorker(
            name, self._skills, self._hooks, threads=self._threads, clock=clock or SystemClock()
        )

    # --- made of other things -------------------------------------------------------------------

    @classmethod
    def from_mcp(cls, server: str | Sequence[str], **options: object) -> Agent:
        """Make an agent of an MCP server: each of its tools is a skill.

        Args:
            server: the address of the server, or the command that starts it and its arguments.
            options: see ``dragoman.adapters.mcp.agent``.
        """
        return cast("Agent", AGENT_ADAPTERS["mcp"](server, options))

    @classmethod
    def from_pydantic_ai(cls, agent: object, **options: object) -> Agent:
        """Make an agent of an agent of pydantic-ai.

        Args:
            options: see ``dragoman.adapters.pydantic_ai``.
        """
        return cast("Agent", AGENT_ADAPTERS["pydantic_ai"](agent, options))

    @classmethod
    def from_langgraph(cls, graph: object, **options: object) -> Agent:
        """Make an agent of a compiled graph of LangGraph.

        Args:
            options: see ``dragoman.adapters.langgraph``.
        """
        return cast("Agent", AGENT_ADAPTERS["langgraph"](graph, options))

    # --- what the card says ---------------------------------------------------------------------

    @property
    def skills(self) -> tuple[AgentSkill, ...]:
        """The skills to publish, the default one first; hidden ones are left out."""
        return self.worker.skills

    @property
    def hidden_skills(self) -> tuple[AgentSkill, ...]:
        """The skills that only the extended card shows, and only to those who may use them."""
        return tuple(s.published for s in self._skills if s.is_hidden)

    @property
    def skill_scopes(self) -> dict[str, frozenset[str]]:
        """The scopes each skill needs; skills that need none are left out."""
        return {s.plan.skill_id: s.scopes for s in self._skills if s.scopes}

    @property
    def schemas(self) -> dict[str, JsonObject]:
        """The JSON Schema of the data each skill takes; skills that take none are left out."""
        return {s.plan.skill_id: s.schema for s in self._skills if s.schema is not None}

    @property
    def input_modes(self) -> tuple[str, ...]:
        """The media types it takes by default."""
        if self._input_modes is not None:
            return self._input_modes
        return _together([skill.input_modes for skill in self.skills])

    @property
    def output_modes(self) -> tuple[str, ...]:
        """The media types it gives by default."""
        if self._output_modes is not None:
            return self._output_modes
        return _together([skill.output_modes for skill in self.skills])

    # --- what the author writes -----------------------------------------------------------------

    @overload
    def skill(self, function: Function, /) -> Function: ...
    @overload
    def skill(
        self,
        /,
        *,
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        examples: Sequence[str] = (),
        input_modes: Sequence[str] | None = None,
        output_modes: Sequence[str] | None = None,
        scopes: Sequence[str] = (),
        hidden: bool = False,
        read_only: bool | None = None,
        on_cancel: CancelHook | None = None,
        on_crash: Literal["resume", "fail"] = "resume",
        timeout: float | None = None,
        final: Literal["mark", "replace"] = "mark",
    ) -> Callable[[Function], Function]: ...

    def skill(
        self,
        function: Function | None = None,
        /,
        *,
        id: str | None = None,  # noqa: A002 - the card's own word for it
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        examples: Sequence[str] = (),
        input_modes: Sequence[str] | None = None,
        output_modes: Sequence[str] | None = None,
        scopes: Sequence[str] = (),
        hidden: bool = False,
        read_only: bool | None = None,
        on_cancel: CancelHook | None = None,
        on_crash: Literal["resume", "fail"] = "resume",
        timeout: float | None = None,
        final: Literal["mark", "replace"] = "mark",
    ) -> Function | Callable[[Function], Function]:
        """Make a function a skill; use it bare or with options. The function itself is unchanged.

        Args:
            id: the function's name unless given.
            name: made from the id unless given.
            description: the first paragraph of the docstring, else the name, unless given.
            tags: the id unless given.
            input_modes: read off the parameters unless given.
            output_modes: read off the result's annotation unless given.
            scopes: what a caller must have been granted to use it, all of them.
            hidden: keep it from the public card; who names it without the scopes is told what is
                told of a skill that does not exist.
            read_only: it changes nothing, so callers who may only look may use it. Unless given,
                that holds for ids that begin with the word get, list, search or health.
            on_cancel: called after a task of this skill was canceled.
            on_crash: what becomes of a task that was under way when the server stopped: the
                function is run again from the top, with the results it had recorded, or the task
                fails.
            timeout: how many seconds the function may work on one message; time it waits for an
                answer or sleeps does not count. Then the task fails.
            final: how a streamed artifact ends. "mark" sets ``lastChunk`` on its last chunk;
                "replace" sends all of it once more, for clients that keep only the last update.
                Others may show it twice.

        Raises:
            UsageError: the id is taken, a parameter cannot be supplied from a message, or the
                scopes are a text and not a list.
        """
        if on_crash not in ("resume", "fail"):
            raise UsageError(f'on_crash must be "resume" or "fail", not {on_crash!r}')
        if final not in ("mark", "replace"):
            raise UsageError(f'final must be "mark" or "replace", not {final!r}')

        def add(function: Function) -> Function:
            skill_id = id or _name_of(function)
            title = name or skill_id.replace("_", " ").replace("-", " ").strip().title()
            published = AgentSkill(
                id=skill_id,
                name=title,
                description=description or _first_paragraph(function) or title,
                tags=tuple(tags) or (skill_id,),
                examples=tuple(examples),
                input_modes=tuple(input_modes or ()),
                output_modes=tuple(output_modes or ()),
            )
            self.add_skill(
                Skill(
                    function,
                    published,
                    threads=self._threads,
                    peers=lambda: self.worker.peers,
                    on_cancel=on_cancel,
                    scopes=_checked_scopes(scopes, skill_id),
                    is_hidden=hidden,
                    is_read_only=bool(_LOOKS(skill_id)) if read_only is None else read_only,
                    resumes=on_crash == "resume",
                    timeout=timeout,
                    default_modes=(self._input_modes or (), self._output_modes or ()),
                    replaces_at_end=final == "replace",
                )
            )
            return function

        return add if function is None else add(function)

    def add_skill(self, skill: Skill) -> None:
        """Add a skill that was made already: for adapters; ``skill`` makes one of a function.

        Raises:
            UsageError: its id is taken.
        """
        self._skills.add(skill)

    def route(self, function: RouteFunction, /) -> RouteFunction:
        """Let a function choose the skill for messages that name none.

        It is given the message and returns a skill's id or its function. It runs before anything is
        stored and on the loop, so it must be quick, and cannot be a coroutine.

        Raises:
            UsageError: it is a coroutine, or there is such a function already.
        """
        where = f"route ({_name_of(function)})"
        if inspect.iscoroutinefunction(function):
            raise UsageError(f"{where} cannot be async: it is asked before anything is stored")
        if len(inspect.signature(function).parameters) != 1:
            raise UsageError(f"{where} must take one parameter, the message")
        if self._skills.has_route:
            raise UsageError(f"{where}: this agent has a route function already")
        self._skills.route_by(function)
        return function

    def on_startup(self, hook: Hook, /) -> Hook:
        """Call a function (async or not) before the first turn."""
        self._hooks.startup.append(hook)
        return hook

    def on_shutdown(self, hook: Hook, /) -> Hook:
        """Call a function (async or not) after the last turn; the last one added comes first."""
        self._hooks.shutdown.append(hook)
        return hook

    def on_cancel(self, hook: Cleanup, /) -> Cleanup:
        """Call a coroutine function with the context of each task that was canceled.

        The task has ended then: the context can be read, but nothing more can be said.
        """
        self._hooks.cancel.append(hook)
        return hook

    def on_event(self, hook: Revision, /) -> Revision:
        """Call a function with every event of a task, before it is stored and shown.

        It may return the event with other content: metadata (what a status update has is added to
        that of the task), the parts of a message or of an artifact, a name, a description. Ids,
        states and chunk marks stay as they are, and no event is left out: one for which the
        function returns None, or fails, is stored as it was. It runs on the loop, so it must be
        quick, and cannot be a coroutine. It may see an event twice, if that could not be stored.

        Raises:
            UsageError: it is a coroutine function.
        """
        if inspect.iscoroutinefunction(hook):
            raise UsageError(f"on_event ({_name_of(hook)}) cannot be async: events are not held up")
        self._hooks.event.append(hook)
        return hook

    # --- serving --------------------------------------------------------------------------------

    @cached_property
    def app(self) -> ASGIApp:
        """A plain ASGI app with default settings, made once; mount it or run it."""
        return self.asgi()

    def asgi(self, **settings: object) -> ASGIApp:
        """Return a new ASGI app with settings of its own (``dragoman.server.settings``)."""
        from dragoman.server.assembly import build_app  # noqa: PLC0415 - serving is loaded by whoever serves

        return build_app(self, settings or None)

    async def in_process(self, stack: AsyncExitStack) -> tuple[A2AService, AgentCard]:
        """Return what serves it in this process, and its card: for ``ctx.call``.

        That is ``app``, if somebody uses it; else one that keeps its tasks beside the default
        store. What is started here is stopped with the stack.
        """
        app = cast("App", self.app if "app" in vars(self) else self._app_beside)
        if app.runtime.started is None:
            stack.push_async_callback(app.runtime.stop)
        return await app.runtime.service(), app.card

    @cached_property
    def _app_beside(self) -> ASGIApp:
        from dragoman.server.settings import load_settings  # noqa: PLC0415 - serving is loaded by whoever serves
        from dragoman.stores.opening import beside  # noqa: PLC0415 - see above

        return self.asgi(store=beside(load_settings({}, os.environ).store, self.name))

    # --- testing --------------------------------------------------------------------------------

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn without a server, with a ``dragoman.testing.RecordingTurn``.

        Whatever the author's code raises, except Rejected and Failed, comes through.
        """
        return await self.worker.run(turn)


def _provider_of(provider: AgentProvider | tuple[str, str] | None) -> AgentProvider | None:
    if isinstance(provider, tuple):
        organization, url = provider
        return AgentProvider(organization=organization, url=url)
    return provider


def _checked_tenants(tenants: Sequence[str]) -> tuple[str, ...]:
    for tenant in tenants:
        if tenant in RESERVED_SEGMENTS:
            raise UsageError(f"tenant {tenant!r} has a name that our own paths use")
        if not tenant or "/" in tenant:
            raise UsageError(f"tenant {tenant!r} cannot be a segment of a path")
    return tuple(tenants)


def _checked_scopes(scopes: Sequence[str], skill_id: str) -> frozenset[str]:
    if isinstance(scopes, str):
        raise UsageError(f"skill {skill_id}: scopes must be a list, such as [{scopes!r}]")
    for scope in scopes:
        # RFC 6749, 3.3: scopes are told apart by spaces.
        if not scope or any(character.isspace() for character in scope):
            raise UsageError(f"skill {skill_id}: {scope!r} is no scope: it is empty or has a space")
    return frozenset(scopes)


def _together(modes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mode for each in modes for mode in each)) or (TEXT,)


def _name_of(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"{function!r} has no name of its own; give the skill an id")
    return name


def _first_paragraph(function: Callable[..., object]) -> str:
    paragraph = (inspect.getdoc(function) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split())
