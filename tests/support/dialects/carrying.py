"""Values of the model, carried through the codec of a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec
import pytest

from dragoman.bindings.grpc.forms import MessageForm
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT
from dragoman.dialects.v0_1.card import decode_card, encode_card
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import REQUEST_TYPES, Operation, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Dialect, Result
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard
    from dragoman.model.events import StreamResponse
    from dragoman.model.tasks import Task
    from tests.support.losses import Form

__all__ = (
    "AS_JSON",
    "DIALECTS",
    "GRPC",
    "OLD",
    "PROTO",
    "SINCE_0_2",
    "Showing",
    "answered",
    "asked",
    "card_back",
    "events_back",
    "frames_of",
    "on_wire",
    "read_card",
    "task_back",
    "wire",
    "write_card",
)

R = TypeVar("R", bound=Request)

DIALECTS: Final[Mapping[Form, Dialect]] = {
    "0.1": V0_1_DIALECT,
    "0.3": V0_3_DIALECT,
    "0.3-proto": V0_3_PROTO_DIALECT,
    "0.3-grpc": V0_3_GRPC,
    "1.0-grpc": V1_0_GRPC,
    "xpr": XPR_DIALECT,
}
OLD: Final[tuple[Form, ...]] = ("0.1", "0.3", "0.3-proto", "0.3-grpc")
SINCE_0_2: Final = OLD[1:]
AS_JSON: Final = OLD[:3]
PROTO: Final = OLD[2:]
GRPC: Final[tuple[Form, ...]] = ("0.3-grpc", "1.0-grpc")

_OPERATIONS: Final = {kind: operation for operation, kind in reversed(REQUEST_TYPES.items())}


class Showing:
    """Marks tests as those that show a loss, and remembers which."""

    def __init__(self) -> None:
        """Begin with none."""
        self.shown: list[tuple[str, Form]] = []

    def __call__(self, name: str, *forms: Form) -> pytest.MarkDecorator:
        """Mark a test as the one that shows a loss in these forms."""
        self.shown.extend((name, form) for form in forms)
        return pytest.mark.parametrize("form", forms)


def asked(form: Form, request: R) -> R:
    """Return what a server reads of a client's request."""
    dialect, operation = DIALECTS[form], _OPERATIONS[type(request)]
    written = dialect.encode_request(operation, request)
    return cast("R", dialect.decode_request(operation, written).request)


def answered(form: Form, operation: Operation, result: Result) -> object:
    """Return what a client reads of a server's answer."""
    dialect = DIALECTS[form]
    return dialect.decode_result(operation, dialect.encode_result(operation, result))


def task_back(form: Form, task: Task) -> Task:
    """Return the task that a client reads."""
    return cast("Task", answered(form, Operation.GET_TASK, TaskDocument.of(task)))


def frames_of(form: Form, event: StreamResponse) -> tuple[bytes, ...]:
    """Return the frames of a stream that has this one event."""
    return DIALECTS[form].frame_writer().write(EventDocument(1, msgspec.json.encode(event)))


def events_back(form: Form, event: StreamResponse) -> list[StreamResponse]:
    """Return the events that a client reads in such a stream."""
    return [DIALECTS[form].decode_event(frame) for frame in frames_of(form, event)]


def card_back(form: Form, card: AgentCard) -> AgentCard:
    """Return the card that a client reads."""
    return read_card(form, write_card(form, card))


def write_card(form: Form, card: AgentCard) -> bytes:
    """Return a card as a server publishes it."""
    if form == "0.1":  # No operation asks for it.
        return encode_card(card)
    return DIALECTS[form].encode_result(Operation.GET_EXTENDED_AGENT_CARD, card)


def read_card(form: Form, data: bytes) -> AgentCard:
    """Return the card that a client reads in what a server publishes."""
    if form == "0.1":
        return decode_card(data)
    read = DIALECTS[form].decode_result(Operation.GET_EXTENDED_AGENT_CARD, data)
    return cast("AgentCard", read)


def wire(form: Form, message: str, members: JsonObject) -> bytes:
    """Return what a peer writes: JSON, or over gRPC of 0.3 the message of this name."""
    if form == "0.3-grpc":
        return MessageForm(f"a2a.v1.{message}").write(members)
    return msgspec.json.encode(members)


def on_wire(form: Form, message: str, data: bytes) -> JsonObject:
    """Return the members that a peer finds."""
    if form == "0.3-grpc":
        return MessageForm(f"a2a.v1.{message}").read(data)
    return msgspec.json.decode(data)
