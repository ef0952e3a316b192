"""What the tests of the client share: an agent that answers by script, at any level."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import httpx2

from dragoman.client.caller import Caller
from dragoman.client.discovery.offers import Offer
from dragoman.client.retry import RetryPolicy
from dragoman.client.transports.base import Batch, Frame
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.tls import Tls
from dragoman.dialects.base import Received
from dragoman.dialects.negotiation import Version
from dragoman.errors import DragomanError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, Request, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from dragoman.testing.clock import FakeClock

__all__ = (
    "NOBODY",
    "PATIENT",
    "QuickClock",
    "ScriptedTransport",
    "Web",
    "artifact",
    "caller_of",
    "card",
    "chunk",
    "offer",
    "said",
    "send",
    "sse",
    "status",
    "task",
    "web_pool",
)

PATIENT = RetryPolicy(attempts=4, first_seconds=1.0, most_seconds=8.0)


class QuickClock(FakeClock):
    """A clock on which no time passes for those who sleep; it remembers how long they wanted to."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


# --- values -------------------------------------------------------------------------------------


def said(text: str, message_id: str = "m-1", role: Role = Role.AGENT, **members: Any) -> Message:
    return Message(message_id=message_id, role=role, parts=(Part(text=text),), **members)


def artifact(*texts: str, artifact_id: str = "a", **members: Any) -> Artifact:
    parts = tuple(Part(text=text) for text in texts)
    return Artifact(artifact_id=artifact_id, parts=parts, **members)


def task(
    state: TaskState = TaskState.WORKING,
    *artifacts: Artifact,
    message: Message | None = None,
    **members: Any,
) -> Task:
    return Task(
        id="t",
        context_id="c",
        status=TaskStatus(state=state, message=message),
        artifacts=artifacts,
        **members,
    )


def status(state: TaskState, message: Message | None = None, **members: Any) -> StreamResponse:
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id="t",
            context_id="c",
            status=TaskStatus(state=state, message=message),
            **members,
        )
    )


def chunk(*texts: str, artifact_id: str = "a", **members: Any) -> StreamResponse:
    return StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(
            task_id="t",
            context_id="c",
            artifact=artifact(*texts, artifact_id=artifact_id),
            **members,
        )
    )


def send(text: str = "hi", **members: Any) -> SendMessageRequest:
    return SendMessageRequest(message=said(text, role=Role.USER, **members))


def card(
    *interfaces: AgentInterface, streaming: bool | None = True, **capabilities: Any
) -> AgentCard:
    return AgentCard(
        name="Agent",
        description="",
        supported_interfaces=interfaces,
        version="1",
        capabilities=AgentCapabilities(streaming=streaming, **capabilities),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )


def offer(version: str = "1.0", url: str = "http://agent.test/", **members: Any) -> Offer:
    major, minor = version.split(".")
    form = "0.3" if version == "0.2" else version
    given: dict[str, Any] = {"binding": "JSONRPC", "form": form, **members}
    return Offer(version=Version(int(major), int(minor)), url=url, **given)


# --- an agent behind a transport ----------------------------------------------------------------

Outcome = Received | DragomanError
"""What an answer holds, or the error that is raised in its place."""

Stream = Iterable[Batch | Frame | StreamResponse | DragomanError]
"""What a stream tells; an error ends it."""


class ScriptedTransport:
    """Answers what the script says, and keeps what it was asked."""

    def __init__(self, *, answers: Iterable[Outcome] = (), streams: Iterable[Stream] = ()) -> None:
        self.answers = deque(answers)
        self.streams = deque(streams)
        self.asked: list[tuple[Operation, Request]] = []
        self.cursors: list[int] = []
        self.extensions: list[tuple[str, ...]] = []
        self.renewals = 0
        self.can_renew = False
        self.is_closed = False

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        self.asked.append((operation, request))
        self.extensions.append(extensions)
        answer = self.answers.popleft()
        if isinstance(answer, DragomanError):
            raise answer
        return answer

    async def stream(
        self, operation: Operation, request: Request, extensions: tuple[str, ...], cursor: int
    ) -> AsyncGenerator[Batch]:
        self.asked.append((operation, request))
        self.extensions.append(extensions)
        self.cursors.append(cursor)
        for item in self.streams.popleft():
            if isinstance(item, DragomanError):
                raise item
            if isinstance(item, StreamResponse):
                yield (Frame(0, item),)
            elif isinstance(item, Frame):
                yield (item,)
            else:
                yield item

    def renew(self) -> bool:
        self.renewals += 1
        return self.can_renew

    async def aclose(self) -> None:
        self.is_closed = True

    @property
    def operations(self) -> list[Operation]:
        """What was asked, in order."""
        return [operation for operation, _ in self.asked]


def caller_of(
    *transports: ScriptedTransport,
    offers: tuple[Offer, ...] = (),
    clock: FakeClock | None = None,
    policy: RetryPolicy = PATIENT,
) -> Caller:
    """Return a caller of one offer per transport."""
    offers = offers or tuple(offer(url=f"http://agent{n}.test/") for n in range(len(transports)))
    by_offer = dict(zip(offers, transports, strict=True))
    return Caller(
        offers,
        by_offer.__getitem__,
        clock=clock or QuickClock(),
        chance=lambda: 1.0,
        policy=policy,
    )


# --- an agent behind HTTP -----------------------------------------------------------------------

NOBODY = RequestHeaders("http://agent.test:80", {})
"""Shows nothing to anybody."""


class Web:
    """Answers HTTP requests by a function, and keeps them."""

    def __init__(self, answer: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.requests: list[httpx2.Request] = []

        def handle(request: httpx2.Request) -> httpx2.Response:
            self.requests.append(request)
            return answer(request)

        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))

    @property
    def last(self) -> httpx2.Request:
        return self.requests[-1]

    @property
    def body(self) -> Any:
        """The JSON of the last request."""
        return json.loads(self.last.content)


def web_pool(web: Web) -> HttpPool:
    return HttpPool(Tls(), web.client)


def sse(*events: object, ids: bool = False) -> httpx2.Response:
    """Return a stream that is complete."""
    lines = [
        f"id: {place}\ndata: {json.dumps(event)}\n\n" if ids else f"data: {json.dumps(event)}\n\n"
        for place, event in enumerate(events, start=1)
    ]
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content="".join(lines).encode()
    )
