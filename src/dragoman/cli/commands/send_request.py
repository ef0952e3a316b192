"""The request of a send: built from the command line, or given as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dragoman.cli.command import Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import CONTEXT_ID, METADATA, STREAM, TASK_ID, Option
from dragoman.cli.session.following import waits
from dragoman.cli.session.parts import PART_OPTIONS, build_parts
from dragoman.clock import SystemClock
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import A2AError, UsageError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, SendMessageConfiguration, SendMessageRequest

__all__ = ("HISTORY", "OPTIONS", "build_request")

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
