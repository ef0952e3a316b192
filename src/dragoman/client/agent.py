"""RemoteAgent: an agent to talk to, whatever it speaks and wherever it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final, Unpack

from msgspec.structs import replace

from dragoman.client.discovery.cards import CardReading
from dragoman.client.discovery.finding import FoundCard
from dragoman.client.errors import ProtocolError
from dragoman.client.results.client_tools import ToolAnswers
from dragoman.client.results.reply import AgentReply
from dragoman.client.results.sending import SendOptions, in_context, request_of
from dragoman.client.results.stream import AgentStream
from dragoman.client.results.tasks import TaskHandle
from dragoman.client.service import RemoteService
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import InvalidParamsError, UnsupportedOperationError
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    ListTasksRequest,
)
from dragoman.service.service import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.client.discovery.trust import CardTrust
    from dragoman.client.results.reply import ReplyView
    from dragoman.client.tools.toolbox import Toolbox
    from dragoman.model.cards import AgentCard, AgentInterface
    from dragoman.model.operations import SendMessageRequest
    from dragoman.model.parts import Part
    from dragoman.model.tasks import TaskState
    from dragoman.service.service import A2AService, EventStream

__all__ = ("Conversation", "RemoteAgent")

_CALL: Final = Call()
"""Who calls a remote agent is told by credentials."""


class RemoteAgent:
    """An agent to talk to. It is what ``connect`` gives; any A2AService will do.

    All methods raise the A2AError with which the agent refuses, and ClientError where it could not
    be asked. A task that fails is no error of the call: see ``AgentReply.raise_for_state``.

    Attributes:
        card: what the agent says of itself.
        call: what goes with every call of the service.
        service: the operations of the protocol, one method each, for what this class does not do.
    """

    def __init__(
        self,
        service: A2AService,
        card: AgentCard,
        new_id: Callable[[], str],
        trust: CardTrust | None = None,
        call: Call = _CALL,
        toolbox: Toolbox | None = None,
    ) -> None:
        """Talk through a service.

        Args:
            new_id: names messages.
            trust: who must have signed the cards to come.
            call: who calls and how, for a service of this process, which cannot tell by itself.
            toolbox: the tools that are run for the agent when it asks for them.
        """
        self._toolbox = toolbox
        self.call = call
        self.service = service
        self.card: AgentCard = card
        self._new_id = new_id
        self._trust = trust

    @property
    def interface(self) -> AgentInterface | None:
        """The interface of the card that is used now; None for an agent in this process."""
        return self.service.interface if isinstance(self.service, RemoteService) else None

    async def send(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Send a message and wait until the work is done, or the agent needs something.

        The content may be texts, ``Path``s, bytes, files, parts, and whatever JSON can hold.
        See ``SendOptions`` for the rest.
        """
        return await self.stream(*content, **options).wait()

    async def start(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Send a message and return at once, with the task as it is then."""
        options = self._equipped(options)
        request = request_of(content, options, self._new_id, is_awaited=False)
        call = self._call_with(options)
        request = await self._placed(request, call)
        answer = await self.service.send_message(request, call)
        return AgentReply(answer if isinstance(answer, Message) else answer.task(), self)

    def stream(self, *content: object, **options: Unpack[SendOptions]) -> AgentStream:
        """Send a message and follow what comes of it, event by event.

        The message is sent when the stream is iterated over. A connection that is lost on the way
        does not show: no event is missing and none comes twice.
        """
        options = self._equipped(options)
        request = request_of(content, options, self._new_id)
        call = self._call_with(options)

        async def begin() -> EventStream:
            placed = await self._placed(request, call)
            return await self.service.send_streaming_message(placed, call)

        return AgentStream(
            begin,
            self,
            timeout_seconds=options.get("timeout_seconds"),
            on_event=options.get("on_event"),
            tool_answers=self.tool_answers(options),
        )

    def tool_answers(self, options: SendOptions | None = None) -> ToolAnswers | None:
        """Return what answers tool calls in one task; None if there are none.

        Args:
            options: of the message that the task answers; the answers are to be alike.
        """
        if self._toolbox is None:
            return None
        kept: SendOptions = {"accept": (options or {}).get("accept", ())}

        async def answer(reply: ReplyView, parts: tuple[Part, ...]) -> EventStream:
            sending = self._equipped(reply.continued(kept))
            request = request_of(parts, sending, self._new_id)
            try:
                return await self.service.send_streaming_message(request, self._call_with(sending))
            except (InvalidParamsError, UnsupportedOperationError):
                task = self.task(reply.task_id, reply.context_id)
                now = (await task.get()).message
                if now is not None and now == reply.message:
                    raise
                # The agent did not want to wait any longer, and goes on without.
                return await task.follow()

        return ToolAnswers(self._toolbox, answer)

    def conversation(self, context_id: str = "") -> Conversation:
        """Return a conversation: its messages share a context."""
        return Conversation(self, context_id)

    def task(self, task_id: str, context_id: str = "") -> TaskHandle:
        """Return the handle of a task; nothing is asked yet."""
        return TaskHandle(self, task_id, context_id)

    async def cancel(self, task_id: str) -> AgentReply:
        """Cancel a task and return it as it is then."""
        document = await self.service.cancel_task(CancelTaskRequest(id=task_id), self.call)
        return AgentReply(document.task(), self)

    async def tasks(
        self,
        *,
        context_id: str = "",
        state: TaskState | None = None,
        changed_after: str | None = None,
        include_artifacts: bool = False,
        history_length: int | None = None,
    ) -> AsyncGenerator[AgentReply]:
        """Yield the caller's tasks, those that changed last first; pages are asked for as needed.

        Args:
            changed_after: an RFC 3339 time; only tasks whose status is of then or later.

        Raises:
            ProtocolError: the pages lead in a circle.
        """
        token = ""
        seen: set[str] = set()
        while True:
            request = ListTasksRequest(
                context_id=context_id,
                status=state,
                page_token=token,
                history_length=history_length,
                status_timestamp_after=changed_after,
                include_artifacts=include_artifacts or None,
            )
            page = await self.service.list_tasks(request, self.call)
            for document in page.tasks:
                yield AgentReply(document.task(), self)
            token = page.next_page_token
            if not token:
                return  # R-3.1.4-6
            if token in seen:
                raise ProtocolError(self.card.name, "its list of tasks leads in a circle")
            seen.add(token)

    async def extended_card(self) -> AgentCard:
        """Ask for the card that the agent has for this caller, and go by it from now on.

        Raises:
            CardUntrustedError: it is not signed by those who must have signed cards of this agent.
        """
        card = await self.service.get_extended_agent_card(GetExtendedAgentCardRequest(), self.call)
        if self._trust is not None:
            await self._trust.checked(FoundCard(CardReading(card), "", encode_card(card)))
        # R-3.1.11-5: it replaces the public one for the session.
        self.card = card
        if isinstance(self.service, RemoteService):
            self.service.adopt(card)
        return card

    async def _placed(self, request: SendMessageRequest, call: Call) -> SendMessageRequest:
        """Return a request that names the context, if it names a task."""
        if request.message.context_id:
            return request
        return (await in_context(self.service, request, call))[0]

    def _equipped(self, options: SendOptions) -> SendOptions:
        """Return options that tell of the tools."""
        if self._toolbox is None:
            return options
        told: SendOptions = {
            "metadata": {**self._toolbox.metadata, **(options.get("metadata") or {})},
            "extensions": (CLIENT_TOOLS, *options.get("extensions", ())),
        }
        return {**options, **told}

    def _call_with(self, options: SendOptions) -> Call:
        extensions = tuple(options.get("extensions", ()))
        return replace(self.call, extensions=extensions) if extensions else self.call


class Conversation:
    """Messages that share a context: the one that the agent has named in its first answer.

    Each message begins a task of its own; a question is answered with ``AgentReply.answer``.
    """

    def __init__(self, agent: RemoteAgent, context_id: str = "") -> None:
        """Go on with a context, or begin one."""
        self._agent = agent
        self.context_id: str = context_id

    async def send(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Send a message and wait; see ``RemoteAgent.send``."""
        place: SendOptions = {"context_id": self.context_id}
        reply = await self._agent.send(*content, **{**place, **options})
        # R-3.4.1-6: a context is the agent's to name.
        self.context_id = self.context_id or reply.context_id
        return reply
