"""The commands of a chat: lines that begin with a slash, and are not sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from dragoman.auth.shared.redaction import redacted_json
from dragoman.cli.chat.forms import form_of
from dragoman.cli.session.parts import file_part
from dragoman.cli.session.saving import SavedFile, plan_files
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import summary_lines, task_lines
from dragoman.client.results.content import ReceivedFile
from dragoman.errors import UsageError
from dragoman.model.messages import Message, text_of
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest, ListTasksRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task

if TYPE_CHECKING:
    from dragoman.cli.chat.app import Chat

__all__ = ("COMMANDS", "ChatCommand", "command_called", "likely")

_NONE: Final = "-"
"""The argument that takes back what was set."""


class ChatCommand(NamedTuple):
    """One command; ``run`` gets the rest of the line, "" if there is none."""

    name: str
    argument: str
    summary: str
    run: Callable[[Chat, str], Coroutine[Any, Any, None]]


def command_called(name: str) -> ChatCommand | None:
    """Return the command of a name, with its slash."""
    return next((command for command in COMMANDS if command.name == name.lower()), None)


def likely(name: str) -> str:
    """Return what to say of a name that is like one; "" if none is."""
    found = get_close_matches(name.lower(), [command.name for command in COMMANDS], n=1)
    return f"did you mean {found[0]}? " if found else ""


async def _help(chat: Chat, argument: str) -> None:
    del argument
    width = max(len(f"{command.name} {command.argument}") for command in COMMANDS)
    for command in COMMANDS:
        usage = f"{command.name} {command.argument}".ljust(width)
        chat.view.note(f"{usage}  {command.summary}")
    chat.view.note('a line that ends with \\ goes on; """ begins and ends a block of lines')


# --- files ----------------------------------------------------------------------------------------


async def _attach(chat: Chat, argument: str) -> None:
    attachments = chat.conversation.attachments
    if argument == _NONE:
        attachments.clear()
    elif argument:
        attachments.append(_attachment(argument, chat.invocation.surroundings.folder))
    for part in attachments:
        chat.view.note(f"goes with your next message: {part.filename or part.url}")
    if not attachments:
        chat.view.note("nothing goes with your next message")


def _attachment(place: str, folder: Path) -> Part:
    return file_part(place if "://" in place else str(Path(place).expanduser()), folder)


async def _save(chat: Chat, argument: str) -> None:
    artifacts = _results(chat)
    files = plan_files(artifacts, only_files=True) or plan_files(artifacts, only_files=False)
    for path in _written(files, chat.invocation.surroundings.folder, argument):
        chat.view.note(f"saved {path}")
    urls = [part.url for artifact in artifacts for part in artifact.parts if part.url is not None]
    for url in urls:
        # Whether to trust an address is not ours to decide; task download asks.
        chat.view.note(f"not fetched: {url}")
    if not files and not urls:
        chat.view.note("the last answer has nothing to save")


def _written(files: Iterable[SavedFile], folder: Path, place: str) -> list[Path]:
    """Write files into a folder, beside what is there, and return where they are."""
    target = folder / Path(place).expanduser()
    try:
        target.mkdir(parents=True, exist_ok=True)
        return [ReceivedFile(content=file.content, name=file.name).save(target) for file in files]
    except OSError as problem:
        raise UsageError(f"cannot write to {target}: {problem.strerror}") from None


def _results(chat: Chat) -> tuple[Artifact, ...]:
    """Return the results of the last answer that has come."""
    outcomes = [exchange.outcome for exchange in chat.conversation.exchanges if exchange.outcome]
    match chat.conversation.task or (outcomes[-1] if outcomes else None):
        case Task() as task:
            return task.artifacts
        case Message() as message:
            return (Artifact(artifact_id="message", parts=message.parts),)
        case None:
            return ()


# --- tasks ----------------------------------------------------------------------------------------


async def _task(chat: Chat, argument: str) -> None:
    task_id = argument or _known(chat, chat.conversation.task).id
    document = await chat.session.service.get_task(GetTaskRequest(id=task_id), chat.session.call)
    chat.view.lines(task_lines(document.task(), is_verbose=chat.invocation.output.is_verbose))


async def _tasks(chat: Chat, argument: str) -> None:
    del argument
    context_id = chat.conversation.context_id
    if not context_id:
        raise UsageError("there is no context yet: say something first")
    request = ListTasksRequest(context_id=context_id)
    page = await chat.session.service.list_tasks(request, chat.session.call)
    for document in page.tasks:
        chat.view.lines(summary_lines(document.task()).gap())
    chat.view.note(f"{len(page.tasks)} of {page.total_size} tasks of this context")


async def _cancel(chat: Chat, argument: str) -> None:
    del argument
    task = _known(chat, chat.conversation.unfinished)
    request = CancelTaskRequest(id=task.id)
    document = await chat.session.service.cancel_task(request, chat.session.call)
    chat.see(document.task())


async def _continue(chat: Chat, argument: str) -> None:
    del argument
    await chat.follow(_known(chat, chat.conversation.unfinished))


async def _form(chat: Chat, argument: str) -> None:
    del argument
    waiting = chat.conversation.waiting
    asked = waiting.status.message if waiting is not None else None
    chat.form = form_of(asked.parts) if asked is not None else None
    if chat.form is None:
        raise UsageError("the agent asks for no form")


def _known(chat: Chat, task: Task | None) -> Task:
    if task is None:
        is_over = chat.conversation.task is not None
        raise UsageError("the task has ended" if is_over else "there is no task yet")
    return task


# --- the conversation -----------------------------------------------------------------------------


async def _new(chat: Chat, argument: str) -> None:
    del argument
    left = chat.conversation.unfinished
    chat.conversation.renew()
    chat.invocation.progress.forget()
    chat.form = None
    if left is not None:
        chat.view.note(f"task {left.id} is left as it is: {left.status.state.value}")
    chat.view.note("your next message begins a new conversation")


async def _skill(chat: Chat, argument: str) -> None:
    skills = {skill.id: skill for skill in chat.session.card.skills}
    if argument == _NONE:
        chat.conversation.skill = ""
    elif argument and argument not in skills:
        raise UsageError(f"the card has no skill {argument}; /skill lists them")
    elif argument:
        chat.conversation.skill = argument
    else:
        for skill in skills.values():
            chat.view.note(f"{skill.id}: {skill.description}")
    chosen = chat.conversation.skill
    chat.view.note(f"new tasks are for {chosen}" if chosen else "the agent chooses the skill")


async def _history(chat: Chat, argument: str) -> None:
    del argument
    for said, outcome in chat.conversation.exchanges:
        lines = Lines().block("You", _brief(said.parts))
        if outcome is not None:
            results = outcome.parts if isinstance(outcome, Message) else _told(outcome)
            lines.block(chat.session.card.name, _brief(results))
        chat.view.lines(lines)


def _told(task: Task) -> tuple[Part, ...]:
    """Return what a task has come to: its results, and what was said last."""
    results = tuple(part for artifact in task.artifacts for part in artifact.parts)
    return (*results, *(task.status.message.parts if task.status.message is not None else ()))


def _brief(parts: tuple[Part, ...]) -> str:
    kinds = [f"({part.kind} {part.filename})" for part in parts if part.text is None]
    return "\n".join(filter(None, (text_of(parts), " ".join(kinds))))


async def _raw(chat: Chat, argument: str) -> None:
    del argument
    if not chat.wire:
        raise UsageError("nothing was exchanged yet")
    for document in chat.wire:
        text = msgspec.json.format(document, indent=2).decode()
        chat.view.lines(Lines().block("JSON", redacted_json(text)))


async def _quit(chat: Chat, argument: str) -> None:
    del argument
    chat.is_over = True


COMMANDS: Final = (
    ChatCommand("/help", "", "show this", _help),
    ChatCommand("/attach", "PATH|URL", "send a file with the next message; - takes back", _attach),
    ChatCommand("/save", "[FOLDER]", "write the files of the last answer, or else its text", _save),
    ChatCommand("/task", "[ID]", "show the task", _task),
    ChatCommand("/tasks", "", "list the tasks of this conversation", _tasks),
    ChatCommand("/cancel", "", "cancel the task", _cancel),
    ChatCommand("/continue", "", "wait for a task that is at work or goes on by itself", _continue),
    ChatCommand("/form", "", "fill in the form that the agent asks for", _form),
    ChatCommand("/skill", "[ID]", "list the skills, or choose one; - leaves it open", _skill),
    ChatCommand("/new", "", "begin a new conversation", _new),
    ChatCommand("/history", "", "show what was said", _history),
    ChatCommand("/raw", "", "show the last request and its answers as JSON of A2A 1.0", _raw),
    ChatCommand("/quit", "", "leave, as Ctrl-D does", _quit),
)
