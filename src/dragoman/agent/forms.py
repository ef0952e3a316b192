"""Forms: what `ctx.ask` may ask for, and answers read as such."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import UNSET

from dragoman.agent.results import File
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.extensions.agent_tools.exchange import input_request_in, uses_in
from dragoman.model.media_types import JSON, TEXT
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.schema import convert, schema_of

__all__ = ("SCHEMA_MEDIA_TYPE", "answer_modes", "form_part", "read_answer")

SCHEMA_MEDIA_TYPE: Final = "application/schema+json"

_SPOKEN: Final = {"yes": True, "y": True, "no": False, "n": False}
"""How people answer a yes-or-no question; msgspec reads true, false, 1 and 0 by itself."""


@lru_cache(maxsize=256)
def form_part(form: object) -> Part | None:
    """Return the data part that tells a client which answer is wanted; None for free content.

    Raises:
        UsageError: no answer could be read as this type.
    """
    if form is str or form is Message or form is File:
        return None
    try:
        schema = schema_of(form)
    except TypeError as error:
        raise UsageError(f"ctx.ask cannot ask for {form}: {error}") from error
    return Part(data={"schema": schema}, media_type=SCHEMA_MEDIA_TYPE)


def answer_modes(asked: Message) -> tuple[str, ...]:
    """Return the media types that a question asks for: what it says itself, else text or a form."""
    request = input_request_in(asked)
    if request is not None and request.input_modes:
        return request.input_modes
    is_form = any(part.media_type == SCHEMA_MEDIA_TYPE for part in asked.parts)
    return (TEXT, JSON) if is_form or uses_in(asked.parts) else (TEXT,)


def read_answer(form: object, answer: Message) -> object:
    """Read an answer as the type asked for: its data part, else its text.

    Raises:
        InvalidParamsError: it does not fit; the violations name the fields.
    """
    if form is Message:
        return answer
    if form is File:
        return _file_in(answer)
    texts = [index for index, part in enumerate(answer.parts) if part.text is not None]
    if form is str and texts:
        return text_of(answer.parts)
    for index, part in enumerate(answer.parts):
        if part.data is not UNSET:
            return convert(part.data, form, f"message.parts[{index}].data")
    if not texts:
        raise InvalidParamsError.of("message.parts", "has neither a data part nor a text part")
    text = text_of(answer.parts).strip()
    if form is bool:
        text = _SPOKEN.get(text.lower(), text.lower())
    return convert(text, form, f"message.parts[{texts[0]}].text", is_text=True)


def _file_in(answer: Message) -> File:
    for part in answer.parts:
        if part.raw is not None or part.url is not None:
            return File.from_part(part)
    raise InvalidParamsError.of("message.parts", "has no file; send a file part")
