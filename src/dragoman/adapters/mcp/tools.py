"""Tools: the skills of an A2A agent, as MCP clients see them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp.types import Tool
from msgspec import Struct

from dragoman.model.base import is_object
from dragoman.model.parts import Part
from dragoman.server.cards.card import SKILL_SCHEMA_EXTENSION

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard, AgentSkill

__all__ = ("SkillTool", "tools_of")

_TEXT: Final = "text"
_INPUT: Final = "input"
_TOLD: Final = {"type": "string", "description": "What to tell the agent."}
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST: Final = 128
"""What MCP allows as the name of a tool."""


class SkillTool(Struct, frozen=True):
    """A skill as a tool.

    Attributes:
        tool: what MCP clients are told of it.
        text: the argument that is sent as text, "" if none is.
        data: the argument that is sent as data; "" if that is all arguments but the text, None if
            there is no data.
    """

    skill_id: str
    tool: Tool
    text: str
    data: str | None

    def content(self, arguments: dict[str, Any]) -> tuple[Part, ...]:
        """Return the content of the message for a call."""
        left = dict(arguments)
        parts: list[Part] = []
        if self.text and self.text in left:
            parts.append(Part(text=str(left.pop(self.text))))
        if self.data is not None:
            parts.append(Part(data=left.get(self.data) if self.data else left))
        # A message has at least one part.
        return tuple(parts) or (Part(text=""),)


def tools_of(card: AgentCard) -> dict[str, SkillTool]:
    """Return the skills of a card as tools, by name.

    A skill whose schema the card publishes takes what that says, and beside it text if it takes
    any; every other skill takes text.
    """
    schemas: JsonObject = {}
    for extension in card.capabilities.extensions:
        if extension.uri == SKILL_SCHEMA_EXTENSION and extension.params is not None:
            schemas = extension.params
    tools: dict[str, SkillTool] = {}
    for skill in card.skills:
        name = _free_name(skill.id, tools)
        entry = schemas.get(skill.id)
        schema = entry.get("input") if is_object(entry) else None
        if is_object(schema):
            tools[name] = _with_data(name, skill, schema, card)
        else:
            shape: JsonObject = {"properties": {_TEXT: _TOLD}, "required": [_TEXT]}
            tools[name] = SkillTool(skill.id, _tool(name, skill, shape), _TEXT, None)
    return tools


def _with_data(name: str, skill: AgentSkill, schema: JsonObject, card: AgentCard) -> SkillTool:
    data = ""
    if schema.get("type") != "object":
        # The arguments of a tool are an object.
        data = _INPUT
        schema = {"properties": {_INPUT: schema}, "required": [_INPUT]}
    properties = schema.get("properties")
    members = properties if is_object(properties) else {}
    modes = skill.input_modes or card.default_input_modes
    takes_text = "text/plain" in modes and _TEXT not in members
    if takes_text:
        schema = {**schema, "properties": {**members, _TEXT: _TOLD}}
    return SkillTool(skill.id, _tool(name, skill, schema), _TEXT if takes_text else "", data)


def _tool(name: str, skill: AgentSkill, shape: JsonObject) -> Tool:
    examples = [f"For example: {example}" for example in skill.examples]
    return Tool(
        name=name,
        title=skill.name,
        description="\n".join([skill.description, *examples]),
        input_schema={**shape, "type": "object"},
    )


def _free_name(skill_id: str, taken: dict[str, SkillTool]) -> str:
    """Return a name that MCP allows and that no other skill has got."""
    base = _NO_NAME.sub("_", skill_id)[:_LONGEST] or "skill"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base[: _LONGEST - 8]}_{number}"
    return name
