"""Answers: which of them fit what an agent has asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.exchange import (
    ToolResult,
    ToolUse,
    input_request_in,
    results_in,
    uses_in,
)
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part

__all__ = ("check_answer", "is_sensitive", "results_by_id")


def is_sensitive(asked: Message) -> bool:
    """Tell whether the answer to a question must not be kept or shown."""
    request = input_request_in(asked)
    return request is not None and request.sensitive


def check_answer(asked: Message | None, answer: Message) -> None:
    """Refuse an answer that does not fit what a task waits for.

    Args:
        asked: the question; None if the task does not wait for input.

    Raises:
        InvalidParamsError: it names what nobody waits for, or leaves out what somebody does.
    """
    results = results_in(answer.parts)
    if asked is None:
        if results:
            raise InvalidParamsError.of(
                "message.parts", f"has a result for {results[0].tool_use_id!r}, too late"
            )
        return
    uses = uses_in(asked.parts)
    if uses:
        results_by_id(uses, answer)
        return
    for result in results:
        if result.tool_use_id not in _names_of(asked):
            raise _unknown(result)


def results_by_id(uses: Sequence[ToolUse], answer: Message) -> Mapping[str, ToolResult]:
    """Return the result of each tool that was asked for, by the id of its use.

    An answer without any result is the result of the tool, if there is only one.

    Raises:
        InvalidParamsError: a result is missing, comes twice, or is for nothing that was asked.
    """
    found: dict[str, ToolResult] = {}
    wanted = {use.tool_use_id for use in uses}
    results = results_in(answer.parts)
    if not results and len(uses) == 1:
        only = uses[0].tool_use_id
        return {only: ToolResult(tool_use_id=only, result=_content_of(answer.parts))}
    for result in results:
        if result.tool_use_id not in wanted:
            raise _unknown(result)
        if result.tool_use_id in found:
            raise InvalidParamsError.of(
                "message.parts", f"has two results for {result.tool_use_id!r}"
            )
        found[result.tool_use_id] = result
    for use in uses:
        if use.tool_use_id not in found:
            raise InvalidParamsError.of(
                "message.parts", f"lacks the tool-result of {use.tool_use_id!r} ({use.name})"
            )
    return found


def _names_of(asked: Message) -> set[str]:
    """Return what the answer to a question may call it."""
    request = input_request_in(asked)
    return {asked.message_id, request.request_id if request is not None else ""} - {""}


def _content_of(parts: tuple[Part, ...]) -> object:
    data = next((part.data for part in parts if part.data is not UNSET), UNSET)
    return text_of(parts) if data is UNSET else data


def _unknown(result: ToolResult) -> InvalidParamsError:
    return InvalidParamsError.of(
        "message.parts", f"has a result for {result.tool_use_id!r}, which nobody waits for"
    )
