"""Conversation: where the next message of a chat goes, and what was said so far.

Memory of the process only: nothing of it is written anywhere (A2ACLI_INTERACT_005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.client.following.progress import Progress
from dragoman.client.results.client_tools import addressed
from dragoman.client.results.sending import SendOptions, request_of
from dragoman.extensions.agent_tools.exchange import input_request_in
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Task

__all__ = ("Conversation", "Exchange")


class Exchange(NamedTuple):
    """What the user has said, and what has come of it; None if nothing has."""

    said: Message
    outcome: Task | Message | None


class Conversation:
    """The context and the task of a chat, as the agent has named them.

    Attributes:
        context_id: "" until the agent has named one.
        task: the last one, whatever its state; None if there was none in this context.
        skill: the one that new tasks are for; "" leaves the choice to the agent.
        attachments: files that go with the next message.
        exchanges: what was said, oldest first.
    """

    def __init__(self, *, context_id: str = "", metadata: JsonObject | None = None) -> None:
        """Begin, maybe in a context that exists; ``metadata`` goes with every request."""
        self.context_id: str = context_id
        self.task: Task | None = None
        self.skill = ""
        self.attachments: list[Part] = []
        self.exchanges: list[Exchange] = []
        self._metadata = metadata
        self._known = Progress()

    @property
    def waiting(self) -> Task | None:
        """The task that waits for an answer, if there is one: the next message goes to it."""
        # A2ACLI_CHAT_001: a task is carried while it is interrupted, and no longer.
        task = self.task
        return task if task is not None and task.status.state.is_interrupted else None

    @property
    def wants_secret(self) -> bool:
        """Tell whether the answer that is waited for must not be seen."""
        asked = self.waiting.status.message if self.waiting is not None else None
        request = input_request_in(asked)
        return request is not None and request.sensitive

    @property
    def unfinished(self) -> Task | None:
        """The task, if it has not ended."""
        task = self.task
        return task if task is not None and not task.status.state.is_terminal else None

    def request(self, parts: tuple[Part, ...], new_id: Callable[[], str]) -> SendMessageRequest:
        """Return the request of the next message; attachments go along."""
        options: SendOptions = {"context_id": self.context_id}
        if self.waiting is not None:
            options["task_id"] = self.waiting.id
            if len(parts) == 1 and parts[0].text is not None and not self.attachments:
                parts = addressed(self.waiting.status.message, parts[0].text) or parts
        elif self.skill:
            options["skill"] = self.skill
        if self._metadata is not None:
            options["request_metadata"] = self._metadata
        return request_of((*parts, *self.attachments), options, new_id)

    def known(self, task_id: str) -> Progress:
        """Return what was shown of a task, to tell news from what is known.

        Args:
            task_id: "" for one that is about to begin.
        """
        if task_id and task_id == self._known.task_id:
            self._known.reconnect()
        else:
            self._known = Progress(context_id=self.context_id, continues=bool(task_id))
        return self._known

    def see(self, outcome: Task | Message | None) -> None:
        """Note what has come of a message."""
        if outcome is None:
            return
        self.context_id = outcome.context_id or self.context_id
        # A message binds the context only, even where it names a task.
        self.task = outcome if isinstance(outcome, Task) else None

    def renew(self) -> None:
        """Begin a new context with the next message; what was said is kept."""
        self.context_id = ""
        self.task = None
        self._known = Progress()
