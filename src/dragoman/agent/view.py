"""View: what a skill sees of its task, the same for coroutines and for plain functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.agent.client_tools import tools_of

if TYPE_CHECKING:
    from dragoman.extensions.agent_tools.declarations import ClientTool
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.service.principal import Principal
    from dragoman.service.worker import Turn

__all__ = ("View",)


class View:
    """The task that a skill works at, to be looked at."""

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

    @property
    def tools(self) -> tuple[ClientTool, ...]:
        """The tools that the caller can run for this task, see ``use_tool``."""
        return tools_of(self._turn)
