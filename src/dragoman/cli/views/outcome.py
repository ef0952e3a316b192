"""Showing what came of a command: the task, the message or the events, and how to go on.

What the agent has decided is named on standard error where it is no success; it is no failure of
the command.
"""

from __future__ import annotations

import msgspec

from dragoman.cli.command import Invocation
from dragoman.cli.options.options import STREAM
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import event_lines, message_lines, task_lines
from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState

__all__ = ("note_polling", "show_end", "show_event", "show_message", "show_task")


def show_task(invocation: Invocation, document: TaskDocument, *, is_response: bool = False) -> None:
    """Show a task.

    Args:
        is_response: it answers a send, whose JSON has the task as a member.
    """
    task = document.task()
    invocation.progress.see_task(task)
    found = document.json()
    invocation.output.show(
        b'{"task":%b}' % found if is_response else found,
        lambda: task_lines(task, is_verbose=invocation.output.is_verbose).add(_next(invocation)),
    )
    _comment(invocation)


def show_message(invocation: Invocation, message: Message) -> None:
    """Show a message that answers a send without a task."""
    invocation.output.show(
        msgspec.json.encode({"message": message}),
        lambda: message_lines(message, is_verbose=invocation.output.is_verbose),
    )


def show_event(invocation: Invocation, event: EventDocument) -> None:
    """Show one event of a stream."""
    invocation.output.show(
        event.json, lambda: event_lines(event.value, is_verbose=invocation.output.is_verbose)
    )


def note_polling(invocation: Invocation, card: AgentCard) -> None:
    """Tell who wants to follow live that the agent does not stream."""
    if invocation.settings[STREAM] and not card.capabilities.streaming:
        invocation.output.note("the agent does not stream: it is asked from time to time")


def show_end(invocation: Invocation) -> None:
    """Show, after the last event, how to go on."""
    if not invocation.output.is_json:
        invocation.output.print(_next(invocation).text())
    _comment(invocation)


def _next(invocation: Invocation) -> Lines:
    command = invocation.progress.next_command()
    return Lines().field(_label(invocation), command) if command else Lines()


def _comment(invocation: Invocation) -> None:
    """Name a state that is no success; and how to go on, as JSON has no field for it."""
    progress, output = invocation.progress, invocation.output
    if progress.is_settled and progress.state is not TaskState.COMPLETED:
        assert progress.state is not None  # noqa: S101 - what is settled has a state
        output.warn(f"the task is in {progress.state.value}")
    command = progress.next_command()
    if output.is_json and command:
        output.note(f"{_label(invocation)}: {command}")


def _label(invocation: Invocation) -> str:
    return "Resume" if invocation.progress.is_settled else "Follow"
