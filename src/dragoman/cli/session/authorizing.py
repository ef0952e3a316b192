"""Tasks that wait for an authorization which is given elsewhere (A2ACLI_AUTH_011).

By default a command stops there, and shows what the agent says about it. With
``--on-auth-required wait`` it keeps watching: an agent may go on by itself once the user has agreed
(A2A 1.0, 7.6). No credentials are ever sent in a message.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from dragoman.cli.command import Invocation
from dragoman.cli.options.options import ON_AUTH_REQUIRED, POLL_INTERVAL
from dragoman.cli.session.polling import Gaps
from dragoman.cli.session.session import Session
from dragoman.cli.views.task import task_lines
from dragoman.clock import SystemClock
from dragoman.model.documents import EventDocument
from dragoman.model.operations import GetTaskRequest
from dragoman.model.tasks import TaskState

__all__ = ("authorized", "beyond_authorization")


async def authorized(invocation: Invocation, session: Session) -> bool:
    """Wait until the task has its authorization, if that is wished; tell whether it goes on."""
    progress, settings = invocation.progress, invocation.settings
    if settings[ON_AUTH_REQUIRED] != "wait" or progress.state is not TaskState.AUTH_REQUIRED:
        return False
    request, clock = GetTaskRequest(id=progress.task_id), SystemClock()
    document = await session.follower.look(request)
    # Standard output has the outcome alone; what is to be done now is told beside it.
    asked = task_lines(document.task(), is_verbose=False).text()
    invocation.output.note(*asked.splitlines(), "waiting for the authorization")
    gaps = Gaps(settings[POLL_INTERVAL])
    while progress.state is TaskState.AUTH_REQUIRED:
        await clock.sleep(gaps.after(has_changed=False))
        await session.follower.look(request)
    return True


async def beyond_authorization(
    invocation: Invocation, session: Session, events: AsyncGenerator[EventDocument]
) -> AsyncGenerator[EventDocument]:
    """Yield the events of a task, and those after an authorization that was waited for."""
    while True:
        async with aclosing(events):
            async for event in events:
                yield event
        if not await authorized(invocation, session):
            return
        events = session.follower.subscribe(invocation.progress.task_id)
