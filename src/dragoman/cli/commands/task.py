"""dragoman task get, cancel and subscribe: one task, by its id."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from dragoman.cli.command import Invocation
from dragoman.cli.commands.send_request import HISTORY
from dragoman.cli.options.options import METADATA, STREAM
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.following import authorized, beyond_authorization, waits
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.views.outcome import note_polling, show_end, show_event, show_task
from dragoman.errors import TaskNotCancelableError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest
from dragoman.model.tasks import TaskState

__all__ = ("CANCEL", "GET", "SUBSCRIBE", "declare_task")


def declare_task(parser: Parser) -> None:
    """Add the argument that names a task."""
    parser.add_argument("task", metavar="TASK_ID", help="id of the task")


# --- get ------------------------------------------------------------------------------------------


def _declare_get(parser: Parser) -> None:
    declare_task(parser)
    parser.add_options((HISTORY,))


async def _get(invocation: Invocation, session: Session) -> None:
    settings = invocation.settings
    request = GetTaskRequest(id=invocation.arguments.task, history_length=settings[HISTORY])
    follower = session.follower
    if waits(settings, by_default=False):
        document = await follower.settled(request)
        while await authorized(invocation, session.follower):
            document = await follower.settled(request)
    else:
        document = await follower.look(request)
    show_task(invocation, document)


# --- cancel ---------------------------------------------------------------------------------------


async def _cancel(invocation: Invocation, session: Session) -> None:
    task_id = invocation.arguments.task
    request = CancelTaskRequest(id=task_id, metadata=invocation.settings[METADATA])
    try:
        document = await session.service.cancel_task(request, session.call)
    except TaskNotCancelableError:
        document = await session.follower.look(GetTaskRequest(id=task_id))
        # Safe to repeat: a task that is canceled already is what was asked for.
        if document.task().status.state is not TaskState.CANCELED:
            raise
    show_task(invocation, document)


# --- subscribe ------------------------------------------------------------------------------------


async def _subscribe(invocation: Invocation, session: Session) -> None:
    note_polling(invocation, session.card)
    is_live = invocation.settings[STREAM]
    last: EventDocument | None = None
    followed = session.follower.subscribe(invocation.arguments.task)
    async with aclosing(beyond_authorization(invocation, session.follower, followed)) as events:
        async for last in events:
            if is_live:
                show_event(invocation, last)
    if is_live:
        show_end(invocation)
        return
    outcome = await session.follower.outcome(last)
    if isinstance(outcome, TaskDocument):
        show_task(invocation, outcome)


GET: Final = agent_command(_get, declare=_declare_get)
CANCEL: Final = agent_command(_cancel, declare=declare_task)
SUBSCRIBE: Final = agent_command(_subscribe, declare=declare_task, is_live=True)
