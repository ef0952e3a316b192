"""Validation of the decoded request, once for all bindings.

Tenant, extensions, capabilities, media types and sizes. Whether the caller may do this with this
skill is asked of ``Access`` once the skill is known.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from dragoman.errors import (
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    StreamingNotSupportedError,
    UnknownTenantError,
    UnsupportedOperationError,
)
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentCapabilities
from dragoman.model.media_types import check_parts
from dragoman.model.messages import Message
from dragoman.model.operations import STREAMING, Operation, Request, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.server.settings import ContentLimits
from dragoman.service.service import Call

__all__ = (
    "RequestValidator",
    "check_content",
)


_encode = msgspec.json.Encoder().encode


def check_content(request: SendMessageRequest, limits: ContentLimits) -> None:
    """Raise InvalidParamsError, naming the field, for a message that holds too much."""
    message = request.message
    if request.metadata is not None:
        _check_metadata(request.metadata, "metadata", limits)
    if message.metadata is not None:
        _check_metadata(message.metadata, "message.metadata", limits)
    for index, part in enumerate(message.parts):
        text = part.text
        if text is None:
            _check_part(part, index, limits)
        elif len(text) > limits.max_text_length:
            raise _too_long(index, "text", limits)
        if part.metadata is not None:
            _check_metadata(part.metadata, f"message.parts[{index}].metadata", limits)


def _check_part(part: Part, index: int, limits: ContentLimits) -> None:
    if part.url is not None:
        if len(part.url) > limits.max_text_length:
            raise _too_long(index, "url", limits)
    elif part.raw is not None:
        if len(part.raw) > limits.max_part_bytes:
            raise _too_large(index, "raw", limits)
    elif part.data is not UNSET and len(_encode(part.data)) > limits.max_part_bytes:
        raise _too_large(index, "data", limits)


def _check_metadata(metadata: JsonObject, field: str, limits: ContentLimits) -> None:
    if len(_encode(metadata)) > limits.max_metadata_bytes:
        raise InvalidParamsError.of(
            field, f"must not be larger than {limits.max_metadata_bytes} bytes of JSON"
        )


def _too_long(index: int, member: str, limits: ContentLimits) -> InvalidParamsError:
    return InvalidParamsError.of(
        f"message.parts[{index}].{member}",
        f"must not have more than {limits.max_text_length} characters",
    )


def _too_large(index: int, member: str, limits: ContentLimits) -> InvalidParamsError:
    return InvalidParamsError.of(
        f"message.parts[{index}].{member}",
        f"must not be larger than {limits.max_part_bytes} bytes",
    )


_DEMANDING = frozenset(
    {
        Operation.SEND_MESSAGE,
        Operation.SEND_STREAMING_MESSAGE,
        Operation.SUBSCRIBE_TO_TASK,
    }
)
"""The operations that exchange content, and so need the extensions that the card requires."""

_PUSH = frozenset(
    {
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    }
)


class RequestValidator:
    """Enforces what the card declares.

    Args:
        hidden_input_modes: what is taken beside ``input_modes``, and not told.
    """

    def __init__(
        self,
        *,
        tenants: Iterable[str],
        capabilities: AgentCapabilities,
        input_modes: Iterable[str],
        hidden_input_modes: Iterable[str] = (),
        limits: ContentLimits,
    ) -> None:
        self._limits = limits
        self._tenants = frozenset({"", *tenants})
        self._capabilities = capabilities
        self._extensions = frozenset(item.uri for item in capabilities.extensions)
        self._required = tuple(item.uri for item in capabilities.extensions if item.required)
        self._input_modes = tuple(dict.fromkeys(input_modes))
        self._taken_modes = (*self._input_modes, *hidden_input_modes)

    def activate(self, operation: Operation, requested: str | None) -> tuple[str, ...]:
        """Return the extensions to activate of those a request names, in its order.

        R-T.ext-9: none unless asked for. R-4.6.3-3: what we lack is ignored; R-4.6.3-5: never
        another version of it. R-3.3.4-6: one that the card requires must be named where content is
        exchanged. Cards, tasks and webhooks are read and managed without it.
        """
        if not requested and not self._required:
            return ()
        named = [uri.strip() for uri in (requested or "").split(",")]
        missing = [uri for uri in self._required if uri not in named]
        if missing and operation in _DEMANDING:
            raise ExtensionSupportRequiredError(
                f"This agent requires the extension {missing[0]}; name it in A2A-Extensions",
                metadata={"requiredExtensions": ",".join(missing)},
            )
        return tuple(dict.fromkeys(uri for uri in named if uri in self._extensions))

    def check_offered(self, operation: Operation) -> None:
        """Raise the fitting error for an operation that the card does not offer (R-3.3.4-1).

        Before the request is read: who asks for what is not there hears that, and not what is wrong
        with the question.
        """
        if operation in STREAMING and not self._capabilities.streaming:
            # R-3.3.4-3
            raise StreamingNotSupportedError
        if operation in _PUSH and not self._capabilities.push_notifications:
            raise PushNotificationNotSupportedError  # R-3.3.4-2
        is_card = operation is Operation.GET_EXTENDED_AGENT_CARD
        if is_card and not self._capabilities.extended_agent_card:
            # R-3.3.4-4
            raise UnsupportedOperationError("This agent has no extended card")

    def admit(self, request: Request, call: Call) -> None:
        """Raise the fitting error for a request this agent does not take."""
        if call.tenant not in self._tenants or not call.principal.may_act_in(call.tenant):
            raise UnknownTenantError
        longest = self._limits.max_id_length
        if len(call.alias) > longest:
            raise InvalidParamsError.of("id", f"has more than {longest} characters")
        if isinstance(request, SendMessageRequest):
            self._admit_send(request, call)

    def _admit_send(self, request: SendMessageRequest, call: Call) -> None:
        configuration = request.configuration
        if (
            configuration is not None
            and configuration.task_push_notification_config is not None
            and not self._capabilities.push_notifications
        ):
            raise PushNotificationNotSupportedError
        message = request.message
        self._admit_message(message)
        if not (message.task_id or call.alias):
            # What goes on with a task may be what the task has asked for: its service knows.
            check_parts(
                message.parts, self._taken_modes, taker="this agent", told=self._input_modes
            )
        check_content(request, self._limits)

    def _admit_message(self, message: Message) -> None:
        longest = self._limits.max_id_length
        if (
            len(message.message_id) > longest
            or len(message.context_id) > longest
            or len(message.task_id) > longest
        ):
            raise InvalidParamsError.of("message", f"has an id of more than {longest} characters")
        most = self._limits.max_parts
        if len(message.parts) > most:
            raise InvalidParamsError.of("message.parts", f"must not hold more than {most} parts")
