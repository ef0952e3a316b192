"""The five tools of agents of the XPR network, as models are told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dragoman.extensions.xpr.delegation import ACTION
from dragoman.model.base import JsonObject

__all__ = ("TOOLS", "Tool")

Kind: TypeAlias = Literal["read", "write"]

_TEXT: Final[JsonObject] = {"type": "string"}
_JOB_ID: Final[JsonObject] = {"type": "integer", "minimum": 0}
_ACCOUNT: Final[JsonObject] = {
    "type": "string",
    "maxLength": 12,
    "pattern": "^[a-z1-5.]+$",
    "description": "The account of the other agent.",
}


class Tool(Struct, frozen=True, kw_only=True):
    """One tool, as a model is told of it.

    Attributes:
        kind: whether it only looks; a read-only caller has no others.
        required: the arguments that must be given.
    """

    name: str
    description: str
    kind: Kind
    arguments: Mapping[str, JsonObject]
    required: tuple[str, ...]

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {**self.arguments},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _tool(name: str, description: str, kind: Kind, *required: str, **arguments: JsonObject) -> Tool:
    return Tool(
        name=name,
        description=description,
        kind=kind,
        arguments={"account": _ACCOUNT, **arguments},
        required=("account", *required),
    )


TOOLS: Final = {
    tool.name: tool
    for tool in (
        _tool("xpr_a2a_discover", "Look up an agent on the chain and read its card.", "read"),
        _tool(
            "xpr_a2a_send_message",
            "Send a message to an agent and return the task that comes of it.",
            "write",
            "text",
            text=_TEXT,
            task_id=_TEXT,
            context_id=_TEXT,
            job_id=_JOB_ID,
        ),
        _tool("xpr_a2a_get_task", "Look at a task.", "read", "task_id", task_id=_TEXT),
        _tool("xpr_a2a_cancel_task", "Cancel a task.", "write", "task_id", task_id=_TEXT),
        _tool(
            ACTION,
            "Have another agent do a job that is in escrow; asks for confirmation first.",
            "write",
            "job_id",
            "instructions",
            job_id=_JOB_ID,
            instructions=_TEXT,
            confirmed={"type": "boolean"},
        ),
    )
}
