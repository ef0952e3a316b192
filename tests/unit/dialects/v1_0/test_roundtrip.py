"""decode(encode(x)) == x for everything the model can say."""

from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from dragoman.dialects.v1_0.card import decode_card, encode_card
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.decode import Form
from dragoman.model import cards, events, messages, operations, parts, push, security, tasks
from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import REQUEST_TYPES, Operation, Request
from tests.support.strategies import BY_TYPE, agent_cards

MODULES = (cards, events, messages, operations, parts, push, security, tasks)


def test_there_is_a_strategy_for_every_type_of_the_model() -> None:
    public = [getattr(module, name) for module in MODULES for name in module.__all__]
    structs = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Struct)}
    assert structs == set(BY_TYPE)


@pytest.mark.requirement("R-4-1", "R-3.2.5-1")
@pytest.mark.parametrize("kind", BY_TYPE, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_is_written_reads_back(kind: type[Struct], data: st.DataObject) -> None:
    value = data.draw(BY_TYPE[kind])
    wire = msgspec.json.encode(value)
    form = Form(kind)
    assert form.decode(wire) == value
    # The slow way reads the plain form as the fast one does.
    assert form.convert(msgspec.json.decode(wire)) == value


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_every_request_reads_back_through_the_dialect(
    operation: Operation, data: st.DataObject
) -> None:
    request = data.draw(BY_TYPE[REQUEST_TYPES[operation]])
    assert V1_0_DIALECT.decode_request(operation, msgspec.json.encode(request)).request == request


@given(agent_cards)
def test_cards_read_back(card: AgentCard) -> None:
    assert decode_card(encode_card(card)) == card


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_every_request_reads_back_as_a_client_writes_it(
    operation: Operation, data: st.DataObject
) -> None:
    request = cast("Request", data.draw(BY_TYPE[REQUEST_TYPES[operation]]))
    wire = V1_0_DIALECT.encode_request(operation, request)
    assert V1_0_DIALECT.decode_request(operation, wire).request == request


@given(BY_TYPE[tasks.Task])
def test_a_task_reads_back_as_the_answer_of_each_operation(task: tasks.Task) -> None:
    for operation in (Operation.SEND_MESSAGE, Operation.GET_TASK, Operation.CANCEL_TASK):
        wire = V1_0_DIALECT.encode_result(operation, TaskDocument.of(task))
        assert V1_0_DIALECT.decode_result(operation, wire) == task


@given(BY_TYPE[messages.Message])
def test_a_message_reads_back_as_the_answer_to_a_send(message: messages.Message) -> None:
    wire = V1_0_DIALECT.encode_result(Operation.SEND_MESSAGE, message)
    assert V1_0_DIALECT.decode_result(Operation.SEND_MESSAGE, wire) == message


@given(BY_TYPE[events.StreamResponse])
def test_an_event_reads_back(event: events.StreamResponse) -> None:
    (wire,) = V1_0_DIALECT.frame_writer().write(EventDocument(1, msgspec.json.encode(event)))
    assert V1_0_DIALECT.decode_event(wire) == event
