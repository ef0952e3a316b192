"""The bytes that a card's signature is made over.

1.0 says which they are: the card by the presence rules of the proto, written as RFC 8785 has it
(1.0 reference, 8.4). SDKs leave out more than that (Q-13), and 0.3 says nothing at all (0.x
reference, 4.6). So a signature is tried against every form in use, the strongest first.

A form vouches for what is in it, and so for nothing else that stands in the card: see
``MODEL_FORMS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

import rfc8785

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.card_0_3 import without_defaults
from dragoman.dialects.v1_0.card import decode_card, encode_card
from dragoman.errors import A2AError
from dragoman.model.base import JsonObject, is_array, is_object

__all__ = ("MODEL_FORMS", "WEAK_FORMS", "CardForm", "Payload", "payloads_of")

CardForm: TypeAlias = Literal["canonical", "whole", "stripped", "py-0.3"]
"""``canonical``: as the specification of 1.0 has it. ``whole``: all that was received, nothing left
out. ``stripped``: without what is empty, as SDKs of 1.0 do. ``py-0.3``: as the Python SDK of 0.3
does."""

WEAK_FORMS: Final[frozenset[CardForm]] = frozenset({"stripped", "py-0.3"})
"""Those that leave out what is empty. A security requirement without scopes is: it can be taken
out of a signed card, and the signature still holds."""

MODEL_FORMS: Final[frozenset[CardForm]] = frozenset({"canonical", "stripped"})
"""Those that cover the members of 1.0 only. A card that is trusted because of such a signature must
be read as a card of 1.0."""


class Payload(NamedTuple):
    """What is signed, and by which reading of the card."""

    form: CardForm
    content: bytes


def payloads_of(document: bytes) -> tuple[Payload, ...]:
    """Return what a signature of this card may be made over, the strongest form first.

    A form comes more than once where releases of an SDK differ. One that the card cannot be
    written in (for a number beyond the reach of a double, or too deep a nesting) is left out.

    Raises:
        JSONParseError, InvalidParamsError: it is not a JSON object.
    """
    received = Fields(read_json(document)).whole
    found: dict[bytes, Payload] = {}
    for form, write in _forms(_unsigned(received), _card_1_0(document)):
        try:
            content = write()
        except (rfc8785.CanonicalizationError, RecursionError, OverflowError):
            continue
        found.setdefault(content, Payload(form, content))
    return tuple(found.values())


def _forms(
    received: JsonObject, card: JsonObject | None
) -> Iterator[tuple[CardForm, Callable[[], bytes]]]:
    if card is not None:
        yield "canonical", lambda: _canonical(card)
    yield "whole", lambda: _canonical(received)
    if card is not None:
        yield "stripped", lambda: _canonical(_stripped(card))
        # Before 1.3 the Python SDK escaped what is not ASCII, and all numbers were floats.
        yield "stripped", lambda: _escaped(_floats(_stripped(card)))
    elif "supportedInterfaces" not in received:
        plain = without_defaults(received)
        yield "py-0.3", lambda: _escaped(_stripped(plain))
        # Before 0.3.24 it dropped false and 0 as well.
        yield "py-0.3", lambda: _escaped(_stripped(plain, also_zero=True))


def _card_1_0(document: bytes) -> JsonObject | None:
    """Return the members of 1.0 by the presence rules of the proto, None if it is no such card.

    R-8.4.1-2 to -6 are the rules by which the model is written: what is REQUIRED has no default
    and is always there, what is ``optional`` is there when it is set, the rest when it is not at
    its default. What 1.0 does not know is not in the model.
    """
    try:
        card = Fields(read_json(encode_card(decode_card(document)))).whole
    except A2AError:
        return None
    return _unsigned(card)


def _unsigned(card: JsonObject) -> JsonObject:
    # R-8.4.1-8.
    return {name: value for name, value in card.items() if name != "signatures"}


def _canonical(value: object) -> bytes:
    # R-8.4.1-1, R-8.4.1-7.
    return rfc8785.dumps(value)  # pyright: ignore[reportArgumentType] - it was read from JSON


def _escaped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _stripped(value: object, *, also_zero: bool = False) -> object:
    """Return a value without what is empty, or becomes so, at any depth."""
    if is_object(value):
        kept = ((name, _stripped(one, also_zero=also_zero)) for name, one in value.items())
        return {name: one for name, one in kept if not _is_empty(one, also_zero=also_zero)}
    if is_array(value):
        every = (_stripped(one, also_zero=also_zero) for one in value)
        return [one for one in every if not _is_empty(one, also_zero=also_zero)]
    return value


def _is_empty(value: object, *, also_zero: bool) -> bool:
    return not value if also_zero else value in (None, "", [], {})


def _floats(value: object) -> object:
    """Return a value with its numbers as protobuf has them; in a card they are all free data."""
    if is_object(value):
        return {name: _floats(one) for name, one in value.items()}
    if is_array(value):
        return [_floats(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
