"""Follower: what comes of a message or a task, until there is nothing to wait for.

Streaming, going on after a cut, and looking again and again where an agent does not stream are the
client's business. Here is decided when to stop: a task that has ended, or that waits for its
client, is reported at once.

A task may also wait for an authorization that is given elsewhere (A2ACLI_AUTH_011). By default a
command stops there, and shows what the agent says about it. With ``--on-auth-required wait`` it
keeps watching: an agent may go on by itself once the user has agreed (A2A 1.0, 7.6). No credentials
are ever sent in a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import msgspec

from dragoman.cli import errors
from dragoman.cli.command import Invocation
from dragoman.cli.options.options import (
    ASYNC,
    ON_AUTH_REQUIRED,
    POLL_INTERVAL,
    STREAM,
    TIMEOUT,
    WAIT,
)
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.progress import Progress
from dragoman.cli.views.task import task_lines
from dragoman.client.errors import ClientError
from dragoman.client.following.progress import Progress as TaskProgress
from dragoman.client.transports.base import Frame
from dragoman.clock import Clock, SystemClock
from dragoman.errors import (
    A2AError,
    InvalidAgentResponseError,
    UnsupportedOperationError,
    UsageError,
)
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.messages import Message
from dragoman.model.operations import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import TaskState
from dragoman.service.service import A2AService, Call, EventStream

__all__ = (
    "Follower",
    "Gaps",
    "authorized",
    "beyond_authorization",
    "waits",
    "within_budget",
)


class Follower:
    """Follows one task of one agent.

    Args:
        streams: the agent streams; otherwise the client looks at the task from time to time.
        interval: the first pause between two looks.
    """

    def __init__(
        self,
        service: A2AService,
        call: Call,
        progress: Progress,
        *,
        streams: bool,
        interval: float,
        clock: Clock,
    ) -> None:
        self._service = service
        self._call = call
        self._progress = progress
        self._streams = streams
        self._interval = interval
        self._clock = clock
        self._known = TaskProgress()

    async def send(self, request: SendMessageRequest) -> AsyncGenerator[EventDocument]:
        """Send a message and yield what comes of it: a task and its events, or one message."""
        stream = await self._service.send_streaming_message(request, self._call)
        message, continues = request.message, bool(request.message.task_id)
        self._known = TaskProgress(context_id=message.context_id, continues=continues)
        async with aclosing(self._read(stream, continues=continues)) as events:
            async for event in events:
                yield event

    async def subscribe(
        self, task_id: str, *, goes_on: bool = False
    ) -> AsyncGenerator[EventDocument]:
        """Yield a task and its events; of one that has ended, the task alone.

        Args:
            goes_on: that the task waits for its client is known, and no reason to stop: it may go
                on by itself once the client has done something elsewhere.
        """
        try:
            request = SubscribeToTaskRequest(id=task_id)
            stream = await self._service.subscribe_to_task(request, self._call)
        except UnsupportedOperationError:
            # R-3.1.6-3: what has ended cannot be followed; reading it tells how it has ended.
            document = await self.look(GetTaskRequest(id=task_id))
            if not self._progress.is_settled:
                raise
            self._known = TaskProgress()
            self._known.look(document.task())
            yield _task_event(document)
            return
        self._known = TaskProgress(continues=True)
        async with aclosing(self._read(stream, is_patient=goes_on)) as events:
            async for event in events:
                yield event

    async def settled(self, request: GetTaskRequest) -> TaskDocument:
        """Look at a task from time to time until there is nothing to wait for; return it."""
        gaps = Gaps(self._interval)
        document = await self.look(request)
        pause = gaps.first()
        while not self._progress.is_settled:
            await self._clock.sleep(pause)
            before, document = document, await self.look(request)
            pause = gaps.after(has_changed=document != before)
        return document

    async def look(self, request: GetTaskRequest) -> TaskDocument:
        """Read a task."""
        document = await self._service.get_task(request, self._call)
        self._progress.see_task(document.task())
        return document

    async def outcome(self) -> TaskDocument | Message:
        """Return the whole task, or the message, that the events have led to.

        Raises:
            InvalidAgentResponseError: there were none.
        """
        if self._known.is_partial:
            # What was seen is all there is, if the rest cannot be had.
            with suppress(A2AError, ClientError):
                return await self.look(GetTaskRequest(id=self._progress.task_id))
        found = self._known.outcome
        if found is None:
            raise InvalidAgentResponseError("The agent has answered with nothing")
        return found if isinstance(found, Message) else TaskDocument.of(found)

    async def _read(
        self, stream: EventStream, *, continues: bool = False, is_patient: bool = False
    ) -> AsyncGenerator[EventDocument]:
        is_first = is_whole = True
        has_ended = False
        async with aclosing(stream):
            async for batch in stream:
                # A task that has ended stays so, but what came of it may be told behind its end.
                news = [event for event in batch if not has_ended or event.value.status is None]
                self._known.take(tuple(Frame(event.seq, event.value) for event in news))
                for event in news:
                    self._progress.see(event.value)
                    is_whole = event.value.task is not None or event.value.message is not None
                    yield event
                # What is told of a continued task begins with the task, which may show the
                # question that our message has just answered. The next sign of life tells.
                is_stale = (continues or is_patient) and is_first
                # Nor does a mere sign of life end the patience with a task that waits.
                is_stale = is_stale or (is_patient and not batch)
                is_first = is_first and not batch
                has_ended = self._progress.is_settled and not self._progress.is_waiting
                if self._progress.is_waiting and not is_stale:
                    break
        self._known.conclude()
        if not self._streams and not is_whole:
            # Where nothing but differences were seen, the whole comes last.
            document = await self.look(GetTaskRequest(id=self._progress.task_id))
            self._known.look(document.task())
            yield _task_event(document)


def _task_event(document: TaskDocument) -> EventDocument:
    return EventDocument(0, msgspec.json.encode({"task": msgspec.Raw(document.json())}))


# --- when to look again ---------------------------------------------------------------------------

_LEAST_SECONDS: Final = 0.1
_MOST_SECONDS: Final = 10.0
_GROWTH: Final = 1.5


class Gaps:
    """The pauses between two looks: the interval, growing while nothing changes."""

    def __init__(self, interval: float) -> None:
        """Begin with the interval that the user wants; no interval makes a busy loop."""
        self._interval = max(interval, _LEAST_SECONDS)
        self._most = max(_MOST_SECONDS, self._interval)
        self._gap = self._interval

    def first(self) -> float:
        """Return the pause before the first look."""
        return self._interval

    def after(self, *, has_changed: bool) -> float:
        """Return the pause after a look."""
        self._gap = self._interval if has_changed else min(self._gap * _GROWTH, self._most)
        return self._gap


# --- whether to wait, and for how long ------------------------------------------------------------


def waits(settings: Settings, *, by_default: bool) -> bool:
    """Tell whether to wait; of what is said, the stronger source counts.

    Raises:
        UsageError: the command line says both.
    """
    for option in (WAIT, STREAM):
        if settings.is_given(option) and settings.is_given(ASYNC):
            raise UsageError(f"--{option.name} and --{ASYNC.name} exclude each other")
    wait, returns_at_once = settings[WAIT], settings[ASYNC]
    if wait is None:
        return by_default and not returns_at_once
    if returns_at_once and settings.source(ASYNC).level < settings.source(WAIT).level:
        return False
    return wait


@asynccontextmanager
async def within_budget(settings: Settings, *, is_live: bool) -> AsyncGenerator[None]:
    """Give up what is done inside when the time is over.

    Args:
        is_live: events are shown as they come; then only a time that somebody has set counts.

    Raises:
        CliError: the time is over.
    """
    seconds = settings[TIMEOUT]
    is_endless = not seconds or (is_live and not settings.is_set(TIMEOUT))
    try:
        async with asyncio.timeout(None if is_endless else seconds):
            yield
    except TimeoutError:
        failure = errors.Failure(errors.TIMEOUT, f"gave up after {errors.in_words(seconds)}")
        raise errors.CliError(failure) from None


# --- authorizations that are given elsewhere ------------------------------------------------------


async def authorized(invocation: Invocation, follower: Follower) -> bool:
    """Wait until the task has its authorization, if that is wished; tell whether it goes on."""
    progress, settings = invocation.progress, invocation.settings
    if settings[ON_AUTH_REQUIRED] != "wait" or progress.state is not TaskState.AUTH_REQUIRED:
        return False
    request, clock = GetTaskRequest(id=progress.task_id), SystemClock()
    document = await follower.look(request)
    # Standard output has the outcome alone; what is to be done now is told beside it.
    asked = task_lines(document.task(), is_verbose=False).text()
    invocation.output.note(*asked.splitlines(), "waiting for the authorization")
    gaps = Gaps(settings[POLL_INTERVAL])
    while progress.state is TaskState.AUTH_REQUIRED:
        await clock.sleep(gaps.after(has_changed=False))
        await follower.look(request)
    return True


async def beyond_authorization(
    invocation: Invocation, follower: Follower, events: AsyncGenerator[EventDocument]
) -> AsyncGenerator[EventDocument]:
    """Yield the events of a task, and those after an authorization that was waited for."""
    while True:
        async with aclosing(events):
            async for event in events:
                yield event
        if not await authorized(invocation, follower):
            return
        events = follower.subscribe(invocation.progress.task_id)
