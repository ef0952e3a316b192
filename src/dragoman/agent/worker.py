"""AgentWorker: the half of an agent that a server runs.

``Agent`` is what an author writes. It fills ``Skills`` and ``Hooks``; the worker plans and runs
turns with them. Only servers and tests talk to it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from dragoman.agent.context import Context
from dragoman.agent.gathering import gathering
from dragoman.agent.skill import CancelHook, Skill
from dragoman.errors import (
    InvalidParamsError,
    PermissionDeniedError,
    UnsupportedOperationError,
    UsageError,
)
from dragoman.extensions.agent_tools.answers import check_answer, is_sensitive
from dragoman.extensions.agent_tools.declarations import declared_in
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.documents import encode_entry
from dragoman.model.events import TaskEvent, TaskStatusUpdateEvent

if TYPE_CHECKING:
    from dragoman.agent.peers import Peers
    from dragoman.agent.sync_context import Threads
    from dragoman.clock import Clock
    from dragoman.model.cards import AgentSkill
    from dragoman.model.messages import Message
    from dragoman.model.operations import SendMessageRequest
    from dragoman.service.worker import Outcome, Plan, Turn

__all__ = ("AgentWorker", "EventHook", "Hooks", "Skills")

EventHook: TypeAlias = Callable[[TaskEvent], TaskEvent | None]
"""Is given an event before it is stored, and returns another, or None to leave it."""

_SKILL_KEY: Final = "skillId"

_logger = logging.getLogger(__name__)


class Skills:
    """The skills of an agent, and which of them a message is for."""

    def __init__(self) -> None:
        """Begin with none."""
        self._skills: dict[str, Skill] = {}
        self._default: Skill | None = None
        self._route: Callable[[Message], object] | None = None

    def __iter__(self) -> Iterator[Skill]:
        """Return all, in the order in which they were added."""
        return iter(self._skills.values())

    def add(self, skill: Skill) -> None:
        """Add a skill.

        Raises:
            UsageError: its id is taken.
        """
        skill_id = skill.plan.skill_id
        if skill_id in self._skills:
            raise UsageError(f"skill {skill_id} exists already; give this one another id")
        self._skills[skill_id] = skill
        # A hidden skill is for those who name it.
        if self._default is None or (self._default.is_hidden and not skill.is_hidden):
            self._default = skill

    @property
    def has_route(self) -> bool:
        """Whether a function chooses the skill."""
        return self._route is not None

    def route_by(self, function: Callable[[Message], object]) -> None:
        """Let a function choose the skill for messages that name none."""
        self._route = function

    def find(self, skill_id: str) -> Skill | None:
        """Return a skill by its id."""
        return self._skills.get(skill_id)

    def choose(self, request: SendMessageRequest, scopes: frozenset[str]) -> Skill:
        """Choose the skill for a message that begins something new.

        Raises:
            InvalidParamsError: it names an unknown skill.
            PermissionDeniedError: the skill is hidden, and needs other scopes than these.
        """
        for place, metadata in (
            ("message.metadata", request.message.metadata),
            ("metadata", request.metadata),
        ):
            if metadata is not None and _SKILL_KEY in metadata:
                return self._named(metadata[_SKILL_KEY], f"{place}.{_SKILL_KEY}", scopes)
        if self._route is not None:
            chosen = self._routed(self._route(request.message))
        elif self._default is not None:
            chosen = self._default
        else:
            raise UnsupportedOperationError("This agent has no skills")
        if chosen.is_hidden and not chosen.is_open_to(scopes):
            raise PermissionDeniedError  # Which scope would do is part of what is hidden.
        return chosen

    def _named(self, skill_id: object, field: str, scopes: frozenset[str]) -> Skill:
        skill = self._skills.get(skill_id) if isinstance(skill_id, str) else None
        if skill is None or (skill.is_hidden and not skill.is_open_to(scopes)):
            raise InvalidParamsError.of(field, "names no skill of this agent")
        return skill

    def _routed(self, choice: object) -> Skill:
        for skill in self:
            if choice == skill.plan.skill_id or choice is skill.function:
                return skill
        raise UsageError(f"the route function returned {choice!r}, which is no skill of this agent")


class Hooks(Struct, frozen=True):
    """Functions of the author that are called at certain times."""

    startup: list[Callable[[], object]] = []
    shutdown: list[Callable[[], object]] = []
    cancel: list[CancelHook] = []
    event: list[EventHook] = []


class AgentWorker:
    """Plans and runs the turns of an agent: its ``dragoman.service.worker.Worker``."""

    def __init__(
        self, name: str, skills: Skills, hooks: Hooks, *, threads: Threads, clock: Clock
    ) -> None:
        """Work with what the author says, now and later."""
        self._name = name
        self._skills = skills
        self._hooks = hooks
        self._threads = threads
        self._clock = clock

    @property
    def skills(self) -> tuple[AgentSkill, ...]:
        """The skills to publish; hidden ones are left out."""
        return tuple(skill.published for skill in self._skills if not skill.is_hidden)

    @cached_property
    def peers(self) -> Peers:
        """The connections to the agents that this one calls."""
        from dragoman.agent.peers import Peers  # noqa: PLC0415 - brings the client, which few need

        return Peers(self._name)

    def plan(self, request: SendMessageRequest, scopes: frozenset[str] = frozenset()) -> Plan:
        """Choose the skill for a message that begins something new, and check its parameters.

        Raises:
            ContentTypeNotSupportedError: the skill does not take what it holds.
            InvalidParamsError: it names an unknown skill, or a parameter is missing or wrong.
            PermissionDeniedError: the skill needs other scopes than these.
        """
        declared_in(request.message.metadata)
        # What answers something is never taken for the beginning of something else.
        check_answer(None, request.message)
        skill = self._skills.choose(request, scopes)
        # Before the parameters: what they should be is told to those who may use the skill.
        skill.check_scopes(scopes)
        skill.check_modes(request)
        skill.check(request.message)
        return skill.plan

    def check_scopes(self, skill_id: str, scopes: frozenset[str]) -> None:
        """Raise PermissionDeniedError for a further message by a caller without the scopes."""
        self._skill(skill_id).check_scopes(scopes)

    def examine_answer(
        self, skill_id: str, asked: Message | None, request: SendMessageRequest
    ) -> bool:
        """Refuse an answer that does not fit; tell whether it is a secret.

        Raises:
            ContentTypeNotSupportedError: it is of a type that neither the skill takes nor the
                question asks for.
            InvalidParamsError: it names what the task does not wait for, lacks what it does wait
                for, or declares tools that break a rule.
        """
        answer = request.message
        declared_in(answer.metadata)
        # A skill that is gone since fails its task by that, and refuses nothing.
        skill = self._skills.find(skill_id)
        if skill is not None:
            skill.check_modes(request, asked)
        check_answer(asked, answer)
        return asked is not None and is_sensitive(asked)

    @property
    def revise_event(self) -> Callable[[TaskEvent], TaskEvent] | None:
        """What has the hooks look at an event; None if there are none."""
        return self._revise if self._hooks.event else None

    def _revise(self, event: TaskEvent) -> TaskEvent:
        """Have the hooks look at an event; one that fails, or changes too much, changes nothing."""
        for hook in self._hooks.event:
            event = _revised(hook, event)
        return event

    async def answer(self, plan: Plan, request: SendMessageRequest, context_id: str) -> Message:
        """Answer directly; only for a plan that says so."""
        skill = self._skill(plan.skill_id)
        return await skill.answer(request.message, context_id, self._clock.new_id)

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn. What the author's code raises, but Rejected and Failed, comes through."""
        # An agent of this process may have called it in a branch of its own.
        gathering.set(None)
        return await self._skill(turn.skill_id).run(turn)

    def resumes(self, skill_id: str) -> bool:
        """Whether a turn that was cut off is run again; if the skill is gone, it fails by that."""
        skill = self._skills.find(skill_id)
        return skill is None or skill.resumes

    def replaces_at_end(self, skill_id: str) -> bool:
        """Whether the author wants streamed artifacts to end by a replacement."""
        skill = self._skills.find(skill_id)
        return skill is not None and skill.replaces_at_end

    def time_limit(self, skill_id: str) -> float | None:
        """Return how long a turn may work; None if the author has not said."""
        skill = self._skills.find(skill_id)
        return None if skill is None else skill.timeout

    async def canceled(self, turn: Turn) -> None:
        """Cancel the tasks that others do for it, then call the cleanup hooks.

        The skill's own comes first; one that fails is logged.
        """
        if turn.recorded:
            from dragoman.agent.children import cancel_children  # noqa: PLC0415 - brings the client

            await cancel_children(turn, self.peers)
        own = self._skill(turn.skill_id).on_cancel
        hooks = self._hooks.cancel if own is None else [own, *self._hooks.cancel]
        for hook in hooks:
            try:
                await hook(Context(turn, lambda: self.peers))
            except Exception:
                _logger.exception("cleanup after canceled task %s failed", turn.task_id)

    async def startup(self) -> None:
        """Call the startup hooks, in order."""
        for hook in self._hooks.startup:
            await _call_hook(hook)

    async def shutdown(self) -> None:
        """Call the shutdown hooks, the last one first, and let the threads go."""
        try:
            for hook in reversed(self._hooks.shutdown):
                await _call_hook(hook)
        finally:
            if "peers" in vars(self):
                await self.peers.aclose()
            self._threads.shutdown()

    def _skill(self, skill_id: str) -> Skill:
        skill = self._skills.find(skill_id)
        if skill is None:
            raise UsageError(f"a task needs skill {skill_id}, which this agent does not have")
        return skill


def _revised(hook: EventHook, event: TaskEvent) -> TaskEvent:
    try:
        revised = hook(event)
        if revised is None:
            return event
        encode_entry(revised)
        is_same = _frame_of(revised) == _frame_of(event)
    except Exception:
        _logger.exception("task %s: an event hook failed", event.task_id)
        return event
    if not is_same:
        _logger.error(
            "task %s: an event hook has changed more than the content of an event; it is ignored",
            event.task_id,
        )
        return event
    return revised


def _frame_of(event: TaskEvent) -> tuple[object, ...]:
    """Return what of an event the task itself goes by."""
    if isinstance(event, TaskStatusUpdateEvent):
        status, said = event.status, event.status.message
        named: tuple[object, ...] = ()
        if said is not None:
            # What a question says of its answer decides what is taken, and what is kept secret.
            asked = (said.metadata or {}).get(CLIENT_TOOLS)
            named = (said.message_id, said.context_id, said.task_id, said.role, asked)
        return (event.task_id, event.context_id, status.state, status.timestamp, *named)
    place = (event.artifact.artifact_id, event.append, event.last_chunk)
    return (event.task_id, event.context_id, *place)


async def _call_hook(hook: Callable[[], object]) -> None:
    result = hook()
    if isinstance(result, Awaitable):
        await result
