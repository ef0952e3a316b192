"""FollowedTask: what following began with, how far the task is known, and whether it is over.

Shared by the two ways to follow a task, ``streams`` and ``polling``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.client.caller import answer_as
from dragoman.client.following.progress import Progress
from dragoman.model.operations import GetTaskRequest, Operation, SubscribeToTaskRequest
from dragoman.model.tasks import Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.caller import Caller
    from dragoman.errors import DragomanError
    from dragoman.model.operations import SendMessageRequest

__all__ = ("FollowedTask",)


class FollowedTask:
    """One send, or one task that exists, and what has come of it so far.

    Attributes:
        sent: the send it began with; None if it began with a task.
        extensions: those that are declared in each request.
        poll_seconds: how long to wait between two looks at the task, while it changes.
        is_resumed: the task is followed by its id, be it from the beginning or after a cut.
    """

    def __init__(
        self,
        caller: Caller,
        begin: SendMessageRequest | SubscribeToTaskRequest,
        extensions: tuple[str, ...],
        poll_seconds: float,
    ) -> None:
        self.caller = caller
        self.extensions = extensions
        self.poll_seconds = poll_seconds
        self.is_resumed = False
        if isinstance(begin, SubscribeToTaskRequest):
            self._task_id = begin.id
            self.sent = None
            self.progress = Progress(continues=True)
        else:
            self._task_id = ""
            self.sent = begin
            message = begin.message
            self.progress = Progress(context_id=message.context_id, continues=bool(message.task_id))

    @property
    def task_id(self) -> str:
        """Return the id of the task, "" as long as it is not known."""
        return self.progress.task_id or self._task_id

    @property
    def name(self) -> str:
        """Return what the client calls the task it has sent to, new or not, in 0.1; else ""."""
        if self.sent is None or self.caller.offer.form != "0.1":
            return ""
        message = self.sent.message
        return message.task_id or message.message_id

    async def read(self) -> Task:
        """Read the task."""
        request = GetTaskRequest(id=self.task_id)
        answer = await self.caller.call(Operation.GET_TASK, request, self.extensions)
        return answer_as(Task, answer)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more can come that belongs to what was asked for."""
        # the stream of a send ends where input is required; following a task does not.
        is_asked = self.progress.state is TaskState.INPUT_REQUIRED
        return self.progress.has_ended or (is_asked and self.is_resumed and self.sent is not None)

    def has_finished(self, problem: DragomanError | None) -> bool:
        """Tell whether a stream has ended where it should, ``problem`` being what has ended it."""
        if self.is_over:
            return True
        state = self.progress.state
        if state is None or not state.is_interrupted:
            return False
        is_asked = self.sent is not None and state is TaskState.INPUT_REQUIRED
        return problem is None or is_asked
