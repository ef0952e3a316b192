"""dragoman send: send a message, and show what comes of it."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import CONTEXT_ID, METADATA, STREAM, TASK_ID, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.following import beyond_authorization, waits
from dragoman.cli.session.parts import PART_OPTIONS, build_parts
from dragoman.cli.session.saving import plan_files, write_files
from dragoman.cli.session.session import Session, with_agent
from dragoman.cli.views.outcome import note_polling, show_end, show_event, show_message, show_task
from dragoman.cli.views.task import message_lines
from dragoman.client.results.client_tools import addressed
from dragoman.client.results.sending import in_context
from dragoman.clock import SystemClock
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import A2AError, UsageError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, SendMessageConfiguration, SendMessageRequest

__all__ = (
    "HISTORY",
    "OPTIONS",
    "SEND",
    "build_request",
)


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
    if invocation.settings[_REQUEST_PAYLOAD] is None:
        request = await _answering(session, request)
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


async def _answering(session: Session, request: SendMessageRequest) -> SendMessageRequest:
    """Return a message to a task as that task wants it: in its context, to what it asks."""
    request, task = await in_context(session.service, request, session.call)
    parts = request.message.parts
    if task is None or not task.status.state.is_interrupted or len(parts) != 1:
        return request
    answer = addressed(task.status.message, parts[0].text) if parts[0].text is not None else ()
    return replace(request, message=replace(request.message, parts=answer or parts))


async def _follow(
    invocation: Invocation, session: Session, request: SendMessageRequest
) -> TaskDocument | Message:
    """Follow what comes of the message, live or in silence, and return what it comes to."""
    note_polling(invocation, session.card)
    is_live, is_told = invocation.settings[STREAM], False
    followed = beyond_authorization(invocation, session.follower, session.follower.send(request))
    async with aclosing(followed) as events:
        async for event in events:
            if is_live:
                show_event(invocation, event)
            elif invocation.progress.task_id and not is_told:
                # At once, so that whoever interrupts knows what to go on with.
                invocation.output.note(invocation.progress.summary())
                is_told = True
    return await session.follower.outcome()


def _save(invocation: Invocation, document: TaskDocument) -> None:
    folder = invocation.surroundings.folder / (invocation.settings[_SAVE] or "")
    files = plan_files(document.task().artifacts, only_files=True)
    write_files(files, folder, overwrite=False)
    for file in files:
        invocation.output.note(f"saved {folder / file.name}")


SEND: Final = Body(run=_run, declare=_declare)


# --- the request ----------------------------------------------------------------------------------

_LARGE_BYTES: Final = 4 * 1024 * 1024
"""Above that an address is better than the bytes; many agents take no more over gRPC."""

HISTORY: Final = Option[int | None](
    name="history",
    metavar="N",
    read=values.count,
    default=None,
    is_configurable=False,
    help="how many of the last messages to return; 0 for none",
)
_MESSAGE_ID: Final = Option[str | None](
    name="message-id",
    metavar="ID",
    default=None,
    is_configurable=False,
    help="id of the message; give the same one to send the same message again",
)
_MESSAGE_METADATA: Final = Option[dict[str, object] | None](
    name="message-metadata",
    metavar="JSON",
    read=values.json_object,
    default=None,
    is_configurable=False,
    help="metadata of the message, a JSON object",
)
_ACCEPT: Final = Option[tuple[str, ...]](
    name="accept",
    metavar="TYPE",
    split=values.split_list,
    default=(),
    is_configurable=False,
    help="media type to be answered in; may be repeated",
)
_REQUEST_PAYLOAD: Final = Option[str | None](
    name="request-payload",
    metavar="PATH|JSON",
    default=None,
    is_configurable=False,
    help="the whole request as JSON, instead of everything that makes up a message",
)

_OF_MESSAGE: Final[tuple[Option[object], ...]] = (
    *PART_OPTIONS,
    HISTORY,
    _ACCEPT,
    _MESSAGE_ID,
    _MESSAGE_METADATA,
)

OPTIONS: Final[tuple[Option[object], ...]] = (*_OF_MESSAGE, _REQUEST_PAYLOAD)

_NO_CONFIGURATION: Final = SendMessageConfiguration()

_EXCLUDED: Final = (*_OF_MESSAGE, CONTEXT_ID, TASK_ID, METADATA)
"""What cannot stand beside a whole request."""


def build_request(invocation: Invocation) -> SendMessageRequest:
    """Return the request; whether to wait for the task is part of it.

    Raises:
        UsageError: the command line makes none.
    """
    settings = invocation.settings
    # Following live is waiting, whatever a file says.
    at_once = not waits(settings, by_default=True) and not settings[STREAM]
    payload = settings[_REQUEST_PAYLOAD]
    request = _built(invocation) if payload is None else _given(invocation, payload)
    if not at_once:
        return request
    configuration = request.configuration or _NO_CONFIGURATION
    return replace(request, configuration=replace(configuration, return_immediately=True))


def _built(invocation: Invocation) -> SendMessageRequest:
    settings, surroundings = invocation.settings, invocation.surroundings
    parts = build_parts(
        invocation.arguments.text, settings.given, surroundings.folder, surroundings.stdin
    )
    size = sum(len(part.raw) for part in parts if part.raw is not None)
    if size > _LARGE_BYTES:
        invocation.output.warn(f"the files have {size} bytes; send large ones as a URL")
    configuration = SendMessageConfiguration(
        accepted_output_modes=settings[_ACCEPT], history_length=settings[HISTORY]
    )
    return SendMessageRequest(
        message=Message(
            # Of the three ids this is the only one that a client makes up.
            message_id=settings[_MESSAGE_ID] or SystemClock().new_id(),
            context_id=settings[CONTEXT_ID] or "",
            task_id=settings[TASK_ID] or "",
            role=Role.USER,
            parts=parts,
            metadata=settings[_MESSAGE_METADATA],
        ),
        configuration=configuration if configuration != _NO_CONFIGURATION else None,
        metadata=settings[METADATA],
    )


def _given(invocation: Invocation, payload: str) -> SendMessageRequest:
    excluded = [one.flag for one in invocation.settings.given if one.option in _EXCLUDED]
    if invocation.arguments.text is not None:
        excluded.append("the text")
    if excluded:
        raise UsageError(f"--request-payload is the whole request: leave out {excluded[0]}")
    try:
        content = _read(payload, invocation.surroundings.folder)
        reading = V1_0_DIALECT.decode_request(Operation.SEND_MESSAGE, content)
    except A2AError as refused:
        raise UsageError(f"--request-payload is no SendMessageRequest: {refused}") from None
    assert isinstance(reading.request, SendMessageRequest)  # noqa: S101 - the operation decides
    return reading.request


def _read(payload: str, folder: Path) -> bytes:
    if payload.lstrip().startswith("{"):
        return payload.encode()
    try:
        return (folder / payload).read_bytes()
    except OSError as problem:
        raise UsageError(f"cannot read {payload}: {problem.strerror or 'failed'}") from None
