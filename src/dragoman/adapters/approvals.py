"""Approvals: tool calls of a model that the caller must decide about.

A person answers in words: yes, or no and why. A program fills in the form. What is neither is asked
again, as long as it takes: nothing is called, and no task fails, because of an answer that was not
understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct

from dragoman.adapters.answers import said_in
from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.agent.results import Reply
from dragoman.model.base import JsonObject, is_array, is_object
from dragoman.model.messages import Message
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.agent.context import Context

__all__ = ("Decision", "Kind", "ToolCall", "decide")

Kind = Literal["approve", "edit", "reject", "respond"]

_APPROVALS: Final = re.compile(r"(yes|y|ok|okay|approved?|true|1)[.!]*", re.IGNORECASE)
# What comes after it is why. "Nothing" is no such word, "no problem" is: better not to call.
_REFUSALS: Final = re.compile(
    r"(?:no|n|reject(?:ed)?|den(?:y|ied)|false|0)(?:[\s,.:;!-]+(?P<why>.*))?",
    re.IGNORECASE | re.DOTALL,
)

_HINTS: Final = {
    "approve": '"yes" to approve',
    "reject": '"no" and why to reject',
    "edit": "the form with other arguments",
    "respond": "the form with the result",
}


class ToolCall(Struct, frozen=True):
    """A tool call that waits for a decision.

    Attributes:
        question: asks for the decision, in words.
        allowed: what may be decided.
    """

    name: str
    arguments: JsonObject
    question: str
    allowed: tuple[Kind, ...]


class Decision(Struct, frozen=True):
    """What was decided about a tool call.

    Attributes:
        arguments: what to call the tool with instead, for an edit.
        message: why it was rejected, or what stands for the result; "" if nothing was said.
    """

    kind: Kind
    arguments: JsonObject | None = None
    message: str = ""


async def decide(ctx: Context, calls: Sequence[ToolCall]) -> list[Decision]:
    """Ask the caller about tool calls, one after the other, and return a decision for each.

    A form that decides about all that are left, as LangChain's clients send it, is taken as such.
    """
    decisions: list[Decision] = []
    while len(decisions) < len(calls):
        left = calls[len(decisions) :]
        complaint: tuple[str, ...] = ()
        while True:
            question = Reply(*complaint, *_question(left[0]))
            found = _read(said_in(await ctx.ask(question, Message)), left)
            if found:
                decisions += found
                break
            hints = ", or ".join(_HINTS[kind] for kind in left[0].allowed)
            complaint = (f"That is no decision about {left[0].name}. Send {hints}.",)
    return decisions


def _question(call: ToolCall) -> tuple[object, ...]:
    properties: JsonObject = {"decision": {"enum": list(call.allowed)}}
    if "edit" in call.allowed:
        properties["arguments"] = {"type": "object", "description": "for edit"}
    if "reject" in call.allowed or "respond" in call.allowed:
        properties["message"] = {"type": "string", "description": "why, or the result"}
    schema: JsonObject = {"type": "object", "properties": properties, "required": ["decision"]}
    return (
        call.question,
        {"tool": call.name, "arguments": call.arguments},
        Part(data={"schema": schema}, media_type=SCHEMA_MEDIA_TYPE),
    )


def _read(said: object, calls: Sequence[ToolCall]) -> list[Decision]:
    """Return what was decided about the first of these calls or all of them; [] if unclear."""
    listed = said.get("decisions") if is_object(said) else None
    if is_array(listed):
        if len(listed) != len(calls):
            return []
        pairs = zip(listed, calls, strict=True)
        found = [_read_form(each, call) if is_object(each) else None for each, call in pairs]
    elif is_object(said):
        found = [_read_form(said, calls[0])]
    else:
        found = [_read_words(said, calls[0])]
    decisions = [each for each in found if each is not None]
    return decisions if len(decisions) == len(found) else []


def _read_form(form: JsonObject, call: ToolCall) -> Decision | None:
    """Read our form, or a decision as LangChain writes it."""
    kind = form.get("decision", form.get("type"))
    if kind not in call.allowed:
        return None
    edited = form.get("edited_action")
    arguments = edited.get("args") if is_object(edited) else form.get("arguments")
    message = form.get("message", form.get("reason", ""))
    if not isinstance(message, str) or (kind == "respond" and not message):
        return None
    if kind != "edit":
        return Decision(cast("Kind", kind), message=message)
    return Decision("edit", arguments) if is_object(arguments) else None


def _read_words(said: object, call: ToolCall) -> Decision | None:
    # JSON's true and false are such words, too.
    words = str(said).strip()
    if _APPROVALS.fullmatch(words) and "approve" in call.allowed:
        return Decision("approve")
    refusal = _REFUSALS.fullmatch(words)
    if refusal and "reject" in call.allowed:
        return Decision("reject", message=(refusal["why"] or "").strip())
    if call.allowed == ("respond",) and isinstance(said, str) and words:
        return Decision("respond", message=said)
    return None
