"""Chat: what a user types, turn by turn: messages, answers to forms, and commands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from dragoman.cli.chat.commands import COMMANDS, command_called, likely
from dragoman.cli.chat.conversation import Conversation, Exchange
from dragoman.cli.chat.forms import Form, form_of
from dragoman.cli.chat.terminal import Keyboard, Prompt, Reads, completions, interruptible
from dragoman.cli.chat.turn import Ending, Turn
from dragoman.cli.chat.view import View
from dragoman.cli.command import Invocation
from dragoman.cli.options.options import CONTEXT_ID, METADATA, TASK_ID
from dragoman.cli.session.session import Session, failure_in
from dragoman.cli.views.labels import Lines
from dragoman.clock import SystemClock
from dragoman.errors import DragomanError, UsageError
from dragoman.model.documents import EventDocument
from dragoman.model.messages import Message
from dragoman.model.operations import GetTaskRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState

__all__ = ("Chat",)

_NOT_SHOWN: Final = "[not shown]"
"""What is kept of an answer that must not be seen."""


class Chat:
    """A chat with one agent.

    Attributes:
        conversation: where the next message goes.
        form: the one to fill in next, if the agent asks for that.
        wire: the last request and what came of it, as JSON.
        is_over: the user has said to leave, or left a turn.
    """

    def __init__(
        self,
        invocation: Invocation,
        session: Session,
        view: View,
        keyboard: Reads | None = None,
    ) -> None:
        """Prepare; nothing is sent or read yet.

        Args:
            keyboard: who types; by default the terminal of the process.
        """
        self.invocation = invocation
        self.session = session
        self.view = view
        self.conversation: Final = Conversation(
            context_id=invocation.settings[CONTEXT_ID] or "", metadata=invocation.settings[METADATA]
        )
        self.form: Form | None = None
        self.wire: tuple[bytes, ...] = ()
        self.is_over: bool = False
        self._prompt = Prompt(keyboard or Keyboard(self._completions), view)

    async def run(self, text: str | None) -> None:
        """Talk until the user leaves, and tell how to go on.

        Args:
            text: the first message, None if the user is to type it.

        Raises:
            DragomanError: the task that the options name cannot be read.
        """
        self.view.welcome(self.session.card, self.session.interface())
        await self._resume()
        if text is not None:
            await self.say((Part(text=text),))
        while not (self.is_over or self._prompt.is_over):
            await self._step()
        self._say_goodbye()

    async def say(self, parts: tuple[Part, ...]) -> None:
        """Send a message, with what is attached, and show what comes of it."""
        conversation = self.conversation
        is_secret = conversation.wants_secret
        request = conversation.request(parts, SystemClock().new_id)
        events = self.session.follower.send(request)
        ending = await self._turn(request.message.task_id, events)
        if ending.received:
            # Something came of it, so it has arrived.
            conversation.attachments.clear()
        if is_secret:
            said = replace(request.message, parts=(Part(text=_NOT_SHOWN),))
            request = replace(request, message=said)
        conversation.exchanges.append(Exchange(request.message, ending.outcome))
        self.wire = (msgspec.json.encode(request), *ending.received)

    async def follow(self, task: Task) -> None:
        """Show how a task goes on."""
        events = self.session.follower.subscribe(task.id, goes_on=True)
        ending = await self._turn(task.id, events)
        self.wire = ending.received
        exchanges = self.conversation.exchanges
        if exchanges:
            # It is the last message that this is the answer to.
            exchanges[-1] = exchanges[-1]._replace(outcome=ending.outcome)

    def see(self, outcome: Task | Message | None) -> None:
        """Note what has come of a message, or of a task, and say where that leaves us."""
        self.conversation.see(outcome)
        self.form = None
        if not isinstance(outcome, Task):
            return
        self.invocation.progress.see_task(outcome)
        if not self.is_over:
            self.view.ending(outcome)
        question = outcome.status.message
        if outcome.status.state is TaskState.INPUT_REQUIRED and question is not None:
            self.form = form_of(question.parts)

    def tell(self, problem: DragomanError) -> None:
        """Tell of a failure, after which the chat goes on."""
        self.view.settle()
        if isinstance(problem, UsageError):
            self.view.note(str(problem))
            return
        failure = failure_in(self.session, problem, self.invocation.settings)
        self.invocation.output.fail(failure)

    async def _turn(self, task_id: str, events: AsyncGenerator[EventDocument]) -> Ending:
        turn = Turn(
            self.session,
            self.invocation.settings,
            self.view,
            known=self.conversation.known(task_id),
            tell=self.tell,
        )
        ending = await turn.follow(events)
        self.is_over = self.is_over or ending.is_left
        self.see(ending.outcome)
        return ending

    # --- what the user types --------------------------------------------------------------------

    async def _step(self) -> None:
        if self.form is not None:
            form, self.form = self.form, None
            answer = self._prompt.fill(form)
            if answer is not None:
                await self.say((answer,))
            return
        attached = len(self.conversation.attachments)
        who = "answer" if self.conversation.waiting is not None else "you"
        label = f"{who} (+{attached})" if attached else who
        is_secret = self.conversation.wants_secret
        if is_secret:
            self.view.note("what you type is not shown, and the agent does not keep it")
        entry = self._prompt.enter(label, is_secret=is_secret)
        if entry is None:
            return
        if entry.startswith("/") and not entry.startswith("//"):
            await self._obey(entry)
            return
        parts = self._parts_of(entry)
        if parts is not None:
            await self.say(parts)

    async def _obey(self, entry: str) -> None:
        name, _, argument = entry.partition(" ")
        command = command_called(name)
        if command is None:
            guess = likely(name)
            self.view.note(f"there is no command {name}; {guess}/help lists them, // sends a slash")
        elif not await interruptible(self._attempt(command.run(self, argument.strip()))):
            self.view.note(f"{name} was interrupted")

    async def _attempt(self, work: Awaitable[None]) -> None:
        try:
            await work
        except DragomanError as problem:
            self.tell(problem)

    def _parts_of(self, entry: str) -> tuple[Part, ...] | None:
        """Return the parts of a message; None if there is nothing to send."""
        if entry.strip():
            return (Part(text=entry[1:] if entry.startswith("//") else entry),)
        if self.conversation.attachments:
            return ()
        if self.conversation.waiting is None or not self._prompt.agrees("send an empty answer?"):
            return None
        return (Part(text=""),)

    def _completions(self, line: str) -> Sequence[str]:
        return completions(
            line,
            commands=[command.name for command in COMMANDS],
            skills=[skill.id for skill in self.session.card.skills],
            folder=self.invocation.surroundings.folder,
        )

    # --- the first and the last word ------------------------------------------------------------

    async def _resume(self) -> None:
        """Show the task that the options name, if they name one."""
        task_id = self.invocation.settings[TASK_ID]
        if task_id is None:
            return
        document = await self.session.follower.look(GetTaskRequest(id=task_id))
        given = self.conversation.context_id
        for news in self.conversation.known(task_id).look(document.task()):
            self.view.show(news.event)
        self.view.settle()
        self.see(document.task())
        # Both are sent as they were given: that they do not belong together is the agent's to say.
        self.conversation.context_id = given or self.conversation.context_id

    def _say_goodbye(self) -> None:
        """Tell the ids, the state and the command to go on with (A2ACLI_INTERACT_004)."""
        progress = self.invocation.progress
        context_id = self.conversation.context_id
        if not context_id and not progress.task_id:
            return
        progress.context_id = context_id
        lines = Lines()
        if progress.task_id:
            lines.field("Task", progress.task_id)
        lines.field("Context", context_id)
        if progress.state is not None:
            lines.field("State", progress.state.value)
        command = progress.next_command()
        if command is not None and not progress.is_settled:
            lines.field("Follow", command)
        self.view.lines(lines.field("Resume", progress.chat_command()))
