"""Questions: what an A2A agent asks, as a form that an MCP client can show.

Forms of MCP are flat: an object whose members are texts, numbers, truths and choices. A question
that fits is asked as it is, a single value as an object with one member, and everything else as
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.model.base import is_array, is_object
from dragoman.model.messages import text_of
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message

__all__ = ("Question",)

_ANSWER: Final = "answer"
_KINDS: Final = frozenset({"string", "number", "integer", "boolean"})
_KEPT: Final = frozenset(
    {"type", "title", "description", "enum", "default", "minimum", "maximum", "minLength"}
    | {"maxLength", "format"}
)
_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})


class Question:
    """A question of an agent.

    Attributes:
        text: what it asks; data that it shows follows as JSON.
        schema: the form of the answer.
    """

    def __init__(self, asked: Message | None) -> None:
        """Read the status message of a task that waits."""
        parts = asked.parts if asked is not None else ()
        forms = [part for part in parts if part.media_type == SCHEMA_MEDIA_TYPE]
        shown = [
            msgspec.json.encode(part.data).decode()
            for part in parts
            if part.data is not UNSET and part.media_type != SCHEMA_MEDIA_TYPE
        ]
        said = [text_of(parts) or ("" if shown else "The agent needs something.")]
        self.text: Final = "\n".join(line for line in (*said, *shown) if line)
        form = forms[0].data if forms else None
        wanted = form.get("schema") if is_object(form) else None
        members = _members_of(wanted)
        self._is_object = members is not None
        if members is not None:
            required: object = wanted.get("required", []) if is_object(wanted) else []
            self.schema: dict[str, Any] = {
                "type": "object",
                "properties": members,
                "required": required,
            }
        else:
            only = _flat(wanted) or {"type": "string"}
            self.schema = {"type": "object", "properties": {_ANSWER: only}, "required": [_ANSWER]}

    def parts(self, content: dict[str, Any]) -> tuple[Part, ...]:
        """Return what to answer the agent, of what was filled in."""
        if self._is_object:
            return (Part(data=content),)
        # Text, because data must be an object in older versions; agents read values out of it.
        value = content.get(_ANSWER, "")
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return (Part(text=text),)


def _members_of(wanted: object) -> dict[str, JsonObject] | None:
    """Return the members of an object that a form can show, None for anything else."""
    properties = wanted.get("properties") if is_object(wanted) else None
    if not is_object(properties) or not properties:
        return None
    members: dict[str, JsonObject] = {}
    for name, schema in properties.items():
        flat = _flat(schema)
        if flat is None:
            return None
        members[name] = flat
    return members


def _flat(wanted: object) -> JsonObject | None:
    """Return the schema of a single value as forms have it, None if they have none for it."""
    if not is_object(wanted):
        return None
    schema = wanted
    choices = schema.get("enum")
    if is_array(choices):
        if not all(isinstance(choice, str) for choice in choices):
            return None
        schema = {**schema, "type": "string"}
    if schema.get("type") not in _KINDS:
        return None
    flat = {name: value for name, value in schema.items() if name in _KEPT}
    if flat.get("format") not in _FORMATS:
        flat.pop("format", None)
    return flat
