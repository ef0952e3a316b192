"""dragoman send: start or continue an interaction, and show what comes of it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.send_request import OPTIONS, build_request
from dragoman.cli.options.options import STREAM, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.following import beyond_authorization
from dragoman.cli.session.saving import plan_files, write_files
from dragoman.cli.session.session import Session, with_agent
from dragoman.cli.views.outcome import note_polling, show_end, show_event, show_message, show_task
from dragoman.cli.views.task import message_lines
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest

__all__ = ("SEND",)

_SAVE: Final = Option[str | None](
    name="save",
    metavar="FOLDER",
    aliases=("--save-fileparts",),
    default=None,
    is_configurable=False,
    help="folder to write the files of the answer to",
)


def _declare(parser: Parser) -> None:
    parser.add_argument(
        "text", nargs="?", default=None, help="text to send; - reads it from standard input"
    )
    parser.add_options((*OPTIONS, _SAVE))


def _run(invocation: Invocation) -> int:
    # What is wrong with the message is told before the agent is looked for.
    request = build_request(invocation)
    return with_agent(
        invocation,
        lambda session: _send(invocation, session, request),
        is_live=invocation.settings[STREAM],
    )


async def _send(invocation: Invocation, session: Session, request: SendMessageRequest) -> None:
    output = invocation.output
    if output.is_verbose and not output.is_json:
        output.print(message_lines(request.message, is_verbose=True).gap().text())
    if request.configuration is not None and request.configuration.return_immediately:
        answer = await session.service.send_message(request, session.call)
    else:
        answer = await _follow(invocation, session, request)
    if invocation.settings[_SAVE] is not None and isinstance(answer, TaskDocument):
        _save(invocation, answer)
    if invocation.settings[STREAM]:
        show_end(invocation)
    elif isinstance(answer, Message):
        show_message(invocation, answer)
    else:
        show_task(invocation, answer, is_response=True)


async def _follow(
    invocation: Invocation, session: Session, request: SendMessageRequest
) -> TaskDocument | Message:
    """Follow what comes of the message, live or in silence, and return what it comes to."""
    note_polling(invocation, session.card)
    last: EventDocument | None = None
    is_live, is_told = invocation.settings[STREAM], False
    followed = beyond_authorization(invocation, session.follower, session.follower.send(request))
    async with aclosing(followed) as events:
        async for last in events:
            if is_live:
                show_event(invocation, last)
            elif invocation.progress.task_id and not is_told:
                # At once, so that whoever interrupts knows what to go on with.
                invocation.output.note(invocation.progress.summary())
                is_told = True
    return await session.follower.outcome(last)


def _save(invocation: Invocation, document: TaskDocument) -> None:
    folder = invocation.surroundings.folder / (invocation.settings[_SAVE] or "")
    files = plan_files(document.task().artifacts, only_files=True)
    write_files(files, folder, overwrite=False)
    for file in files:
        invocation.output.note(f"saved {folder / file.name}")


SEND: Final = Body(run=_run, declare=_declare)
