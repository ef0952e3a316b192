"""RemoteService: a remote agent as an A2AService, so that whatever takes a service takes it.

Beside what the port promises, its methods raise ClientError where the agent could not be asked;
``errors.as_a2a_error`` makes of it what peers may be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from dragoman.client.caller import answer_as
from dragoman.client.following.following import Following
from dragoman.client.following.polling import POLL_SECONDS
from dragoman.dialects.negotiation import V0_1
from dragoman.errors import (
    ExtensionSupportRequiredError,
    InvalidRequestError,
    MethodNotFoundError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    Empty,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task

if TYPE_CHECKING:
    from dragoman.client.caller import Caller
    from dragoman.dialects.base import Received
    from dragoman.model.operations import Request
    from dragoman.service.service import Call, EventStream

__all__ = ("RemoteService",)

_NO_CONFIGURATION: Final = SendMessageConfiguration()


class RemoteService:
    """A remote agent.

    Streams go on after a cut, without gaps and repeats. What a card does not offer is not asked for
    (R-3.3.4-7): a task is read again and again where the agent does not stream.

    Args:
        card: what the agent offers.
        extensions: those that the program knows; they are declared in every request.
        poll_seconds: how long to wait between two looks at a task that changes.
    """

    def __init__(
        self,
        caller: Caller,
        card: AgentCard,
        *,
        extensions: tuple[str, ...] = (),
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._caller = caller
        self._card = card
        self._extensions = extensions
        self._poll_seconds = poll_seconds
        self._followings: WeakSet[Following] = WeakSet()

    @property
    def interface(self) -> AgentInterface:
        """Return the interface that is used now."""
        offer = self._caller.offer
        return AgentInterface(
            url=offer.url,
            protocol_binding=offer.binding,
            protocol_version=str(offer.version),
            tenant=offer.tenant,
        )

    def adopt(self, card: AgentCard) -> None:
        """Go by another card of the same agent from now on; the interface stays."""
        self._card = card

    async def aclose(self) -> None:
        """Stop following what was left without being closed, and let go of the connection."""
        for following in tuple(self._followings):
            if not following.is_waiting:
                await following.aclose()
        await self._caller.aclose()

    async def send_message(self, request: SendMessageRequest, call: Call) -> TaskDocument | Message:
        """Deliver a message; wait for the task to end or pause unless told to return at once."""
        configuration = request.configuration or _NO_CONFIGURATION
        answer = await self._send(request, call, is_awaited=not configuration.return_immediately)
        if isinstance(answer, Message):
            return answer
        return _document(answer, configuration.history_length)

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> EventStream:
        """Deliver a message and follow what comes of it."""
        return await self._follow(request, call)

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        """Return a task as it is now."""
        extensions = self._declared(call)
        task = await self._caller.call(Operation.GET_TASK, request, extensions)
        return _document(task, request.history_length)

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        """Return one page of the caller's tasks."""
        extensions = self._declared(call)
        try:
            answer = await self._caller.call(Operation.LIST_TASKS, request, extensions)
        except (MethodNotFoundError, InvalidRequestError):
            # 0.x reference, 5.1: only late peers of 0.3 have it.
            raise UnsupportedOperationError("This agent does not list tasks") from None
        page = answer_as(ListTasksResponse, answer)
        documents = [_document(task, request.history_length) for task in page.tasks]
        if not request.include_artifacts:
            documents = [document.without_artifacts() for document in documents]
        return TaskPage(
            tasks=tuple(documents),
            next_page_token=page.next_page_token,
            page_size=page.page_size,
            total_size=page.total_size,
        )

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        """Cancel a task and return it."""
        extensions = self._declared(call)
        return _document(await self._caller.call(Operation.CANCEL_TASK, request, extensions))

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> EventStream:
        """Follow a task that has not ended, or one that the caller has a cursor for."""
        return await self._follow(request, call)

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, call: Call
    ) -> TaskPushNotificationConfig:
        """Register a webhook."""
        operation = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
        answer = await self._call_about_push(operation, request, call)
        return answer_as(TaskPushNotificationConfig, answer)

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> TaskPushNotificationConfig:
        """Return a webhook registration."""
        operation = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        answer = await self._call_about_push(operation, request, call)
        return answer_as(TaskPushNotificationConfig, answer)

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return the webhook registrations of a task."""
        operation = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
        answer = await self._call_about_push(operation, request, call)
        return answer_as(ListTaskPushNotificationConfigsResponse, answer)

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, call: Call
    ) -> Empty:
        """Remove a webhook registration."""
        operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
        return answer_as(Empty, await self._call_about_push(operation, request, call))

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, call: Call
    ) -> AgentCard:
        """Return the card for this caller."""
        if not self._card.capabilities.extended_agent_card:
            raise UnsupportedOperationError("This agent has no extended card")
        # it can be read by one who does not know yet what it requires.
        extensions = tuple(dict.fromkeys((*self._extensions, *call.extensions)))
        answer = await self._caller.call(Operation.GET_EXTENDED_AGENT_CARD, request, extensions)
        return answer_as(AgentCard, answer)

    async def _follow(
        self, begin: SendMessageRequest | SubscribeToTaskRequest, call: Call
    ) -> Following:
        following = Following(
            self._caller,
            begin,
            can_stream=bool(self._card.capabilities.streaming),
            extensions=self._declared(call),
            cursor=call.cursor or 0,
            poll_seconds=self._poll_seconds,
        )
        try:
            await following.start()
        except BaseException:
            await following.aclose()
            raise
        self._followings.add(following)
        return following

    async def _send(self, request: SendMessageRequest, call: Call, *, is_awaited: bool) -> object:
        streams = bool(self._card.capabilities.streaming)
        if not is_awaited and streams and self._caller.offer.version == V0_1:
            # 0.x reference, 5.10: a send of 0.1 always waits. But its stream can be left.
            return await self._gather(request, call, is_awaited=False)
        extensions = self._declared(call)
        try:
            return await self._caller.call(Operation.SEND_MESSAGE, request, extensions)
        except MethodNotFoundError:
            if not streams:
                raise
            # 0.x reference, 8.2 A2: there are agents that can do nothing but stream.
            return await self._gather(request, call, is_awaited=is_awaited)

    async def _gather(
        self, request: SendMessageRequest, call: Call, *, is_awaited: bool
    ) -> Task | Message | None:
        """Return what comes of a send, from its stream."""
        events = await self._follow(request, call)
        try:
            async for _ in events:
                if not is_awaited:
                    break
        finally:
            await events.aclose()
        return events.outcome

    def _declared(self, call: Call) -> tuple[str, ...]:
        """Return the extensions to declare.

        R-4.4.4-1, R-T.ext-3: whoever does not know what an agent requires cannot call it.
        """
        declared = tuple(dict.fromkeys((*self._extensions, *call.extensions)))
        offered = self._card.capabilities.extensions
        missing = [each.uri for each in offered if each.required and each.uri not in declared]
        if missing:
            raise ExtensionSupportRequiredError(
                f"This agent requires the extension {missing[0]}; name it if you support it",
                metadata={"requiredExtensions": ",".join(missing)},
            )
        return declared

    async def _call_about_push(
        self, operation: Operation, request: Request, call: Call
    ) -> Received:
        if not self._card.capabilities.push_notifications:
            raise PushNotificationNotSupportedError
        return await self._caller.call(operation, request, self._declared(call))


def _document(answer: object, history_length: int | None = None) -> TaskDocument:
    # 0.x reference, 5.10: what the older versions cannot be asked for is left out here.
    return TaskDocument.of(answer_as(Task, answer)).with_history(history_length)
