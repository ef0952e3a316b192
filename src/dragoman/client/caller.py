"""Caller: asks an agent over the best of its interfaces, elsewhere if need be, and again."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec.structs import replace

from dragoman.client.discovery.fallback import is_understood, offer_after
from dragoman.client.discovery.offers import Offer
from dragoman.client.errors import ClientError, CutError, UnreachableError
from dragoman.client.retry import RetryPolicy, may_repeat
from dragoman.clock import Clock
from dragoman.dialects.negotiation import V0_1
from dragoman.errors import (
    A2AError,
    DragomanError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksResponse,
    Operation,
    Request,
    SendMessageRequest,
)
from dragoman.model.tasks import Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.client.transports.base import Batch, Transport
    from dragoman.dialects.base import Received
    from dragoman.model.events import StreamResponse

__all__ = ("Caller", "answer_as", "name_event", "name_messages")

T = TypeVar("T")

_logger = logging.getLogger(__name__)

_encode: Final = msgspec.json.Encoder().encode

_CORE: Final = frozenset(
    {
        Operation.SEND_MESSAGE,
        Operation.SEND_STREAMING_MESSAGE,
        Operation.GET_TASK,
        Operation.CANCEL_TASK,
    }
)


class Caller:
    """Asks one agent.

    The interface that has once given an answer is kept to; until then, one that does not answer
    gives way to the next (``fallback``).

    Args:
        offers: the ways to call the agent, the best first.
        open_transport: opens one of them.
        chance: a random number from 0 to 1.
    """

    def __init__(
        self,
        offers: Sequence[Offer],
        open_transport: Callable[[Offer], Transport],
        *,
        clock: Clock,
        chance: Callable[[], float],
        policy: RetryPolicy,
    ) -> None:
        self._offers = tuple(offers)
        self._open_transport = open_transport
        self._clock = clock
        self._chance = chance
        self._policy = policy
        self._index = 0
        self._tried: dict[int, DragomanError] = {}
        self._is_settled = False
        self._transport: Transport | None = None

    @property
    def offer(self) -> Offer:
        """Return the way that is used now."""
        return self._offers[self._index]

    @property
    def policy(self) -> RetryPolicy:
        """Return how often and how patiently to ask again."""
        return self._policy

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...] = ()
    ) -> Received:
        """Perform a unary operation, again if that may help and does no harm.

        Raises:
            A2AError: the agent refuses.
            ClientError: it could not be asked, or its answer could not be had.
        """
        failures = 0
        while True:
            try:
                return await self._ask(operation, request, extensions)
            except (A2AError, ClientError) as problem:
                failures += 1
                done = await self._done(request, extensions, problem, failures)
                if done is not None:
                    return done
                if not may_repeat(operation, request, problem):
                    raise
                if self._policy.gives_up(failures, problem):
                    raise
                await self.pause(failures, problem)

    async def stream(
        self,
        operation: Operation,
        request: Request,
        extensions: tuple[str, ...] = (),
        cursor: int = 0,
    ) -> AsyncGenerator[Batch]:
        """Perform a streaming operation once; what breaks off is for the caller to go on with."""
        is_renewed = False
        while True:
            index, transport = self._index, self._current()
            has_begun = False
            try:
                batches = transport.stream(operation, self._addressed(request), extensions, cursor)
                async with aclosing(batches):
                    async for batch in batches:
                        has_begun = has_begun or bool(batch)
                        self._is_settled = self._is_settled or has_begun
                        yield _with_message_ids(batch)
            except (A2AError, ClientError) as problem:
                if has_begun:
                    raise
                if not is_renewed and _renews(transport, problem):
                    is_renewed = True
                else:
                    await self._move_on(index, operation, problem)
            else:
                return

    async def pause(self, failures: int, problem: DragomanError | None = None) -> None:
        """Wait before asking again, after so many failures."""
        asked = problem.retry_after_seconds if isinstance(problem, A2AError) else None
        seconds = self._policy.delay(failures, self._chance(), asked)
        _logger.info("asking again in %.1f s: %s", seconds, problem or "the stream has ended")
        await self._clock.sleep(seconds)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._clock.sleep(seconds)

    async def aclose(self) -> None:
        """Let go of the transport."""
        if self._transport is not None:
            transport, self._transport = self._transport, None
            await transport.aclose()

    async def _ask(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        is_renewed = False
        while True:
            index, transport = self._index, self._current()
            try:
                answer = await transport.call(operation, self._addressed(request), extensions)
            except (A2AError, ClientError) as problem:
                if not is_renewed and _renews(transport, problem):
                    is_renewed = True
                else:
                    await self._move_on(index, operation, problem)
            else:
                self._is_settled = True
                return name_messages(answer)

    def _current(self) -> Transport:
        if self._transport is None:
            self._transport = self._open_transport(self.offer)
        return self._transport

    def _addressed(self, request: Request) -> Request:
        """Return the request with the tenant of the interface, and no other (R-8.3.2-4, -5)."""
        tenant = self.offer.tenant
        return request if request.tenant == tenant else replace(request, tenant=tenant)

    async def _move_on(self, index: int, operation: Operation, problem: DragomanError) -> None:
        """Go over to the next offer after one has failed; if there is none, raise the failure.

        When all have failed it is the first failure that counts, and the first offer is tried
        first again.
        """
        if index != self._index:
            return  # Somebody else has found out, meanwhile.
        if is_understood(problem):
            self._is_settled = True
        # Only what every version has tells one version from another.
        is_telling = operation in _CORE or isinstance(problem, UnreachableError)
        if self._is_settled or not is_telling:
            raise problem
        self._tried[index] = problem
        following = offer_after(self._offers, index, problem, self._tried)
        if following is None:
            following, first = next(iter(self._tried.items()))
            self._tried.clear()
            await self._go_to(following)
            raise first
        _logger.info(
            "A2A %s over %s does not answer, another interface is tried: %s",
            self.offer.version,
            self.offer.binding,
            problem,
        )
        await self._go_to(following)

    async def _go_to(self, index: int) -> None:
        if index != self._index:
            self._index = index
            await self.aclose()

    async def _done(
        self,
        request: Request,
        extensions: tuple[str, ...],
        problem: DragomanError,
        failures: int,
    ) -> Task | None:
        """Return the task in which an attempt has ended whose answer was lost, None if it has not.

        A task that cannot be canceled may have been canceled by the attempt before. And 0.1 has no
        messageId by which an agent could know a repeated send; there the client has named the task,
        and looks for it.
        """
        match request, problem:
            case CancelTaskRequest(), TaskNotCancelableError() if failures > 1:
                task = await self._find(request.id, extensions)
                return task if task and task.status.state is TaskState.CANCELED else None
            case SendMessageRequest(), CutError() if self.offer.version == V0_1:
                message = request.message
                return await self._find(message.task_id or message.message_id, extensions)
            case _:
                return None

    async def _find(self, task_id: str, extensions: tuple[str, ...]) -> Task | None:
        try:
            found = await self.call(Operation.GET_TASK, GetTaskRequest(id=task_id), extensions)
        except TaskNotFoundError:
            return None
        return found if isinstance(found, Task) else None


def answer_as(kind: type[T], answer: object) -> T:
    """Return the answer of an operation as what every dialect reads it as.

    Raises:
        TypeError: the transport has returned something else.
    """
    if not isinstance(answer, kind):
        raise TypeError(answer)
    return answer


def _renews(transport: Transport, problem: DragomanError) -> bool:
    """Tell whether the agent has refused what was shown to it, and other can be shown."""
    return isinstance(problem, UnauthenticatedError) and transport.renew()


def _with_message_ids(batch: Batch) -> Batch:
    return tuple([frame._replace(event=name_event(frame.event)) for frame in batch])


# --- ids for messages that have none ------------------------------------------------------------
#
# Those of 0.1, and of peers that leave theirs out. The dialects leave the id of such a message
# empty, which the model does not allow. Made of what the message says, it is the same whenever the
# message is read, so that what is known can be told from what is new.


def name_messages(answer: Received) -> Received:
    """Return an answer in which every message has an id."""
    match answer:
        case Message():
            return _named(answer, answer.context_id)
        case Task():
            return _name_task(answer)
        case ListTasksResponse():
            return replace(answer, tasks=tuple([_name_task(task) for task in answer.tasks]))
        case _:
            return answer


def name_event(event: StreamResponse) -> StreamResponse:
    """Return a frame of a stream in which every message has an id."""
    if event.artifact_update is not None:
        return event
    if event.task is not None:
        return replace(event, task=_name_task(event.task))
    if event.message is not None:
        return replace(event, message=_named(event.message, event.message.context_id))
    update = event.status_update
    if update is None or update.status.message is None:
        return event
    status = _name_status(update.status, update.task_id)
    return replace(event, status_update=replace(update, status=status))


def _name_task(task: Task) -> Task:
    said = task.status.message
    if (said is None or said.message_id) and all(each.message_id for each in task.history):
        return task
    return replace(
        task,
        status=_name_status(task.status, task.id),
        history=tuple([_named(message, task.id) for message in task.history]),
    )


def _name_status(status: TaskStatus, place: str) -> TaskStatus:
    if status.message is None:
        return status
    return replace(status, message=_named(status.message, place))


def _named(message: Message, place: str) -> Message:
    if message.message_id:
        return message
    content = _encode((place, message.role, message.parts))
    return replace(message, message_id=hashlib.sha256(content).hexdigest()[:32])
