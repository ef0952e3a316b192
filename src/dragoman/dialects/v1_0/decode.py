"""Strict decoding first, the normaliser only where that fails.

A well-formed body costs one typed decode. A body that is refused, or that names a field in
snake_case (which the strict decoder would ignore as unknown), is read as plain JSON, normalised and
checked again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
from msgspec import Struct

from dragoman.dialects.v1_0.answers import answer_reader
from dragoman.dialects.v1_0.normalise import reader_for, snake_names
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ("Form",)

S = TypeVar("S", bound=Struct)


class Form(Generic[S]):
    """How one Struct is read: its cached decoder, and its normaliser for when that refuses."""

    __slots__ = ("_decode", "_hint", "_kind", "_normalise", "_snake_key")

    def __init__(self, kind: type[S], *, is_answer: bool = False) -> None:
        """Prepare everything that depends on the type.

        Args:
            is_answer: an agent writes it, not a client: it is read as ``answers`` says.
        """
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode
        self._normalise = answer_reader(kind) if is_answer else reader_for(kind)
        names = snake_names(kind)
        self._hint = _key_search(b"_", {name.rpartition("_")[2] for name in names})
        self._snake_key = _key_search(b'"', names)

    def decode(self, data: bytes) -> S:
        """Read a value.

        Raises:
            JSONParseError: the bytes are not JSON.
            InvalidParamsError: they are, but not this value; the violation says why.
        """
        # Every body has an underscore (ROLE_USER). The hint costs 0.2 µs; the exact test, four
        # times that, keeps a key like trace_id in metadata off the slow path.
        if self._hint(data) and self._snake_key(data):
            return self._decode_leniently(data)
        try:
            return self._decode(data)
        except msgspec.ValidationError as refused:
            return self._decode_leniently(data, refused)
        except DECODER_ERRORS as refused:
            raise refusal_of(refused) from None

    def convert(self, value: object) -> S:
        """Read a value from plain JSON data.

        Raises:
            InvalidParamsError: the data is not this value; the violation says why.
        """
        plain = self._normalise(value, "")
        try:
            return msgspec.convert(plain, self._kind)
        except msgspec.ValidationError as refused:
            raise refusal_of(refused) from None

    def _decode_leniently(self, data: bytes, first: msgspec.ValidationError | None = None) -> S:
        try:
            value = msgspec.json.decode(data)
        except msgspec.ValidationError as refused:
            # A number out of range, which the typed decoder places better.
            raise refusal_of(first or refused) from None
        except DECODER_ERRORS as refused:
            raise refusal_of(refused) from None
        return self.convert(value)


def _key_search(before: bytes, endings: Collection[str]) -> Callable[[bytes], object]:
    """Return the search for a key that has one of these endings after ``before``."""
    # Without names the pattern is (?!), which matches nothing.
    names = "|".join(sorted(endings)) or "(?!)"
    return re.compile(rb'%b(?:%b)"\s*:' % (before, names.encode())).search
