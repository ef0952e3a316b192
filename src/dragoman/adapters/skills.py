"""Skills that do what something else can do, with the schema that it has itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.agent.skill import Skill
from dragoman.agent.sync_context import Threads

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentSkill
    from dragoman.model.messages import Message

__all__ = ("AdaptedSkill",)


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
