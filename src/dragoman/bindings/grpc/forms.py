"""Serialized messages to plain data and to Structs, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec
from google.protobuf.message import DecodeError
from msgspec import Struct

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.plain import shape_of
from dragoman.bindings.grpc.well_known import UnreadableError
from dragoman.dialects.violations import refusal_of
from dragoman.errors import InvalidParamsError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ("MessageForm", "StructForm")

S = TypeVar("S", bound=Struct)


class MessageForm:
    """How one kind of message is read and written as plain data."""

    __slots__ = ("_class", "_name", "_shape")

    def __init__(self, name: str) -> None:
        """Take the full name of the message, such as ``lf.a2a.v1.Task``."""
        self._class = message_class(name)
        self._shape = shape_of(self._class.DESCRIPTOR)
        self._name = name

    def read(self, data: bytes) -> dict[str, object]:
        """Return what is set in a message.

        Raises:
            InvalidRequestError: the bytes are no such message.
            InvalidParamsError: they are, but hold a number or a time that A2A does not have.
        """
        try:
            return self._shape.read(self._class.FromString(data))
        except DecodeError:
            # Nested too deeply, not UTF-8, cut short: protobuf's own words name its internals.
            raise InvalidRequestError(f"The bytes are not a message {self._name}") from None
        except UnreadableError as problem:
            raise InvalidParamsError.of(problem.path, problem.description) from None

    def write(self, plain: Mapping[str, object]) -> bytes:
        """Return the message with these members."""
        message = self._class()
        self._shape.write(message, plain)
        return message.SerializeToString()


class StructForm(Generic[S]):
    """How one kind of message is read and written as a Struct that has the same members."""

    __slots__ = ("_form", "_kind", "_normalise", "write")

    def __init__(
        self, name: str, kind: type[S], normalise: Callable[[object, str], object] | None = None
    ) -> None:
        """Take the full name of the message, and the Struct it is.

        Args:
            normalise: makes of plain data which the Struct does not take what it may be meant as.
        """
        self._form = MessageForm(name)
        self._kind = kind
        self._normalise = normalise
        self.write: Final = self._form.write

    def decode(self, data: bytes) -> S:
        """Read a message.

        Raises:
            InvalidRequestError: the bytes are no such message.
            InvalidParamsError: they are, but the Struct does not take it; the violation says why.
        """
        plain = self._form.read(data)
        try:
            return msgspec.convert(plain, self._kind)
        except msgspec.ValidationError as refused:
            if self._normalise is None:
                raise refusal_of(refused) from None
        try:
            return msgspec.convert(self._normalise(plain, ""), self._kind)
        except msgspec.ValidationError as refused:
            raise refusal_of(refused) from None

    def encode(self, value: S) -> bytes:
        """Write a message."""
        return self.write(msgspec.to_builtins(value, builtin_types=(bytes,)))
