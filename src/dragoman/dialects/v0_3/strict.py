"""What the strict reader of 0.2 and 0.3 refuses before it reads (0.x reference, 6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.strict import check_parts, check_role, check_spelling
from dragoman.errors import InvalidParamsError
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ("check_request",)


def check_request(operation: Operation, params: bytes) -> None:
    """Refuse the params of a request that only a lenient reader takes.

    Raises:
        JSONParseError, InvalidParamsError: they are such; the violation says why.
    """
    fields = Fields(read_json(params))
    check_spelling(fields)  # D19, D20
    check = _CHECKS.get(operation)
    if check is not None:
        check(fields)


def _check_send(params: Fields) -> None:
    message = params.at("message")
    if message is None:
        raise InvalidParamsError.of("message", "is required")
    # D10: the id must be there; ``kind`` may be missing, as in nearly all examples of the text.
    message.required_text("messageId")
    # D11: 1.0 has other roles, and parts without a kind.
    check_role(message)
    check_parts(message, "kind")  # D9, D11


def _check_id(params: Fields) -> None:
    params.required_text("id")  # D8


_CHECKS: Final[Mapping[Operation, Callable[[Fields], None]]] = {
    Operation.SEND_MESSAGE: _check_send,
    Operation.SEND_STREAMING_MESSAGE: _check_send,
    Operation.GET_TASK: _check_id,
    Operation.CANCEL_TASK: _check_id,
    Operation.SUBSCRIBE_TO_TASK: _check_id,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _check_id,
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _check_id,
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: _check_id,
}
