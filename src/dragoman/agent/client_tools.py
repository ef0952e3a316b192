"""Client tools: what the caller can do for a task, and how a turn has it done.

The tools run at the caller's, who is asked for them like for any other input. What is recorded:

    tool ............ the ids of the uses, so that they are the same if the turn is run again
    ask ............. the answer, with a result for each
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import InvalidParamsError, ToolError
from dragoman.extensions.agent_tools.answers import results_by_id
from dragoman.extensions.agent_tools.declarations import ClientTool, declared_in, fault_in
from dragoman.extensions.agent_tools.exchange import ToolResult, ToolUse, results_in

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.service.worker import Turn

__all__ = ("TOOL_SECONDS", "ToolUses", "input_of", "tools_of")

TOOL_SECONDS: Final = 300.0
"""How long a tool may take, unless the agent says otherwise; somebody may have to allow it."""

_TOOL: Final = "tool"


def tools_of(turn: Turn) -> tuple[ClientTool, ...]:
    """Return the tools that the caller has declared last; an answer need not say it again."""
    for message in (turn.message, *reversed(turn.history())):
        try:
            declared = declared_in(message.metadata)
        except InvalidParamsError:
            continue
        if declared:
            return declared
    return ()


class ToolUses(Struct, frozen=True):
    """Tools that are to be run together."""

    uses: tuple[ToolUse, ...]

    @classmethod
    def of(cls, turn: Turn, wanted: Sequence[tuple[str, JsonObject]]) -> ToolUses:
        """Check what is wanted against what the caller has declared, and give it ids.

        Raises:
            ToolError: the caller has no such tool, or the arguments do not fit.
        """
        tools = {tool.name: tool for tool in tools_of(turn)}
        for name, arguments in wanted:
            if name not in tools:
                raise ToolError(name, f"The caller has no tool {name!r}")
            if fault := fault_in(tools[name], arguments):
                raise ToolError(name, fault)
        names = ",".join(name for name, _ in wanted)
        recorded = turn.recall(_TOOL, names)
        if recorded is None:
            recorded = msgspec.json.encode([turn.new_id() for _ in wanted])
            turn.note(_TOOL, names, recorded)
        ids = msgspec.json.decode(recorded, type=tuple[str, ...])
        return cls(
            tuple(
                ToolUse(tool_use_id=use_id, name=name, input=arguments)
                for use_id, (name, arguments) in zip(ids, wanted, strict=True)
            )
        )

    @property
    def names(self) -> str:
        """The names of the tools, for people."""
        return ", ".join(use.name for use in self.uses)

    @property
    def prompt(self) -> str:
        """What to tell people who read the question instead of a program."""
        if len(self.uses) > 1:
            return f"Please run these tools: {self.names}"
        use = next(iter(self.uses))
        return f"Please run the tool {use.name} with {msgspec.json.encode(use.input).decode()}"

    def outcomes(self, answer: Message) -> list[object | ToolError]:
        """Return what came of each, in order; a ToolError for what has failed.

        Raises:
            InvalidParamsError: the answer does not tell it of all.
        """
        results = results_by_id(self.uses, answer)
        return [_outcome(use.name, results[use.tool_use_id]) for use in self.uses]


def input_of(answer: Message) -> Message:
    """Return the answer to a question with its content in ordinary parts.

    It may have come as a result, with words beside it that mean nothing.

    Raises:
        ToolError: the caller says that there is none.
    """
    results = results_in(answer.parts)
    if not results:
        return answer
    if results[0].has_failed:
        raise ToolError("", _complaint(results[0]))
    return replace(answer, parts=results[0].content())


def _outcome(name: str, result: ToolResult) -> object | ToolError:
    return ToolError(name, _complaint(result)) if result.has_failed else result.result


def _complaint(result: ToolResult) -> str:
    if result.error is not None:
        return result.error
    said = result.result
    return said if isinstance(said, str) and said else "The caller could not do it"
