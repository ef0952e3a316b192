"""Progress: which task a run has to do with, and the commands with which a user goes on."""

from __future__ import annotations

import shlex
from typing import Final

from dragoman.auth.shared.redaction import without_userinfo
from dragoman.cli.options.options import (
    A2A_VERSION,
    AGENT_CARD,
    CATALOG,
    CONFIG,
    ENDPOINT,
    LEGACY,
    STRICT,
    TENANT,
    TRANSPORT,
    Option,
)
from dragoman.cli.options.settings import Settings
from dragoman.cli.surroundings import NAME
from dragoman.model.events import StreamResponse
from dragoman.model.tasks import Task, TaskState

__all__ = ("Progress",)

_REPEATED: Final[tuple[Option[object], ...]] = (
    AGENT_CARD,
    CATALOG,
    ENDPOINT,
    TRANSPORT,
    A2A_VERSION,
    STRICT,
    LEGACY,
    TENANT,
    CONFIG,
)
"""What says which agent it is and how to speak to it. Credentials are not among it."""


class Progress:
    """The task of a run, as far as it is known. Nothing of it outlives the process.

    Attributes:
        task_id, context_id: "" until the agent has told them.
    """

    def __init__(self, settings: Settings, program: str = NAME) -> None:
        """Begin without a task."""
        self._settings = settings
        self._program = program
        self.task_id: str = ""
        self.context_id: str = ""
        self.state: TaskState | None = None

    @property
    def is_settled(self) -> bool:
        """Tell whether the task has ended or waits for its client: there is nothing to wait for."""
        return self.state is not None and (self.state.is_terminal or self.state.is_interrupted)

    @property
    def is_waiting(self) -> bool:
        """Whether the task waits for its client."""
        return self.state is not None and self.state.is_interrupted

    def see(self, event: StreamResponse) -> None:
        """Note what an event tells of the task."""
        if event.task is not None:
            self.see_task(event.task)
            return
        if event.message is not None:
            self.task_id = event.message.task_id or self.task_id
            self.context_id = event.message.context_id or self.context_id
            return
        update = event.status_update or event.artifact_update
        if update is not None:
            self.task_id, self.context_id = update.task_id, update.context_id
        if event.status_update is not None:
            self.state = event.status_update.status.state

    def see_task(self, task: Task) -> None:
        """Note a task."""
        self.task_id, self.context_id = task.id, task.context_id
        self.state = task.status.state

    def forget(self) -> None:
        """Begin anew, without a task."""
        self.task_id = self.context_id = ""
        self.state = None

    def summary(self) -> str:
        """Return the task in one line."""
        state = f" state {self.state.value}" if self.state is not None else ""
        return f"task {self.task_id} context {self.context_id}{state}"

    def follow_command(self) -> str:
        """Return the command that waits for the task."""
        if self.task_id.startswith("-"):
            return shlex.join([*self._words("task", "get", "--wait"), "--", self.task_id])
        return shlex.join(self._words("task", "get", self.task_id, "--wait"))

    def answer_command(self) -> str:
        """Return the command that answers what the task waits for."""
        context = [f"--context-id={self.context_id}"] if self.context_id else []
        ids = [f"--task-id={self.task_id}", *context]
        return shlex.join(self._words("send", *ids, "YOUR ANSWER"))

    def chat_command(self) -> str:
        """Return the command that goes on with the conversation, and with a task that waits."""
        ids = [f"--context-id={self.context_id}"] if self.context_id else []
        ids += [f"--task-id={self.task_id}"] if self.is_waiting else []
        return shlex.join(self._words("chat", *ids))

    def next_command(self) -> str | None:
        """Return the command to go on with, None if there is nothing to go on with."""
        if not self.task_id or (self.state is not None and self.state.is_terminal):
            return None
        return self.answer_command() if self.is_waiting else self.follow_command()

    def _words(self, *words: str) -> list[str]:
        """Return a command line to the same agent.

        Ids are chosen by the agent: nobody may take one for an option, or for more than a word.
        """
        flags = [
            word
            for given in self._settings.given
            if given.option in _REPEATED
            for word in _spelled(given.option, without_userinfo(given.text))
        ]
        return [self._program, *words, *flags]


def _spelled(option: Option[object], text: str) -> tuple[str, ...]:
    flag = f"--{option.name}"
    return (flag,) if option.is_switch else (flag, text)
