"""Skills that do what something else can do: its own schema, and failures that are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.agent.results import Reply, turn_message
from dragoman.agent.skill import Skill
from dragoman.agent.sync_context import Threads
from dragoman.errors import DragomanError
from dragoman.service.worker import Failed

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentSkill
    from dragoman.model.messages import Message
    from dragoman.service.worker import Outcome, Turn

__all__ = ("AdaptedSkill", "WorkFailedError")


class WorkFailedError(DragomanError):
    """What was adapted says that it has failed: the task fails, and the caller is told this.

    Any other error fails the task without a word, since it may tell of our insides.
    """

    def __init__(self, *content: object) -> None:
        """Keep what to tell the caller, by the rules of ``Reply``."""
        super().__init__(*(str(each) for each in content))
        self.content = content


class AdaptedSkill(Skill):
    """A coroutine function as a skill whose data is described by a schema from elsewhere.

    Args:
        schema: the JSON Schema of the data it takes, for the card; None leaves it to the function.
        check: raises InvalidParamsError for a message that does not fit, before anything is stored.
        resumes: run it again when it was cut off.
    """

    __slots__ = ("_check",)

    def __init__(
        self,
        function: Callable[..., object],
        published: AgentSkill,
        *,
        schema: JsonObject | None = None,
        check: Callable[[Message], object] | None = None,
        resumes: bool = True,
    ) -> None:
        # The function is a coroutine, so no thread is ever started.
        super().__init__(function, published, threads=Threads(1), on_cancel=None, resumes=resumes)
        if schema is not None:
            self.schema: JsonObject | None = schema
        self._check = check

    def check(self, message: Message) -> None:
        """Raise InvalidParamsError if the message does not fit."""
        super().check(message)
        if self._check is not None:
            self._check(message)

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn; what has failed, and says so, fails the task with its words."""
        try:
            return await super().run(turn)
        except WorkFailedError as failed:
            return Failed(turn_message(turn, Reply(*failed.content)))
