import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.journal import TURN, JournalEntry
from dragoman.errors import StoreUnavailableError
from dragoman.server.tasks.delivery import (
    Answer,
    Delivery,
    QueuedDelivery,
    decode_answer,
    decode_delivery,
    encode,
    trace_at,
)
from dragoman.service.principal import Principal
from tests.support.server.fakes import user_message
from tests.support.strategies import json_objects, message_values, string_lists

scopes = st.frozensets(st.text(max_size=5), max_size=3)
principals = st.builds(
    Principal,
    owner=st.text(min_size=1),
    scopes=scopes,
    tenants=st.none() | scopes,
    expires_ms=st.integers(0, 2**53),
)
errands = st.builds(
    Delivery,
    principal=principals,
    message=message_values,
    metadata=json_objects,
    extensions=string_lists,
    accepted_output_modes=string_lists,
)
answers = st.builds(Answer, errand=st.none() | errands, is_late=st.booleans())


@given(errands)
def test_an_errand_comes_back_as_it_was(errand: Delivery) -> None:
    assert decode_delivery(encode(errand)) == errand


@given(answers)
def test_an_answer_comes_back_as_it_was(answer: Answer) -> None:
    assert decode_answer(encode(answer)) == answer


@given(errands)
def test_an_answer_and_none_are_told_apart(errand: Delivery) -> None:
    kinds = [Answer(errand=errand), Answer(is_late=True), Answer()]
    assert len({encode(answer) for answer in kinds}) == 3


def test_a_message_alone_takes_no_more_than_itself() -> None:
    message = user_message()
    bare = Delivery(message=message)
    assert bare.is_bare
    assert encode(bare) == b'{"message":' + msgspec.json.encode(message) + b"}"


@pytest.mark.parametrize(
    "errand",
    [
        Delivery(message=user_message(), metadata={"k": 1}),
        Delivery(message=user_message(), extensions=("https://example.com/x",)),
        Delivery(message=user_message(), accepted_output_modes=("text/plain",)),
        Delivery(message=user_message(), principal=Principal(owner="ada")),
        Delivery(message=user_message(), trace="00-a-b-01"),
    ],
)
def test_whatever_came_with_it_counts(errand: Delivery) -> None:
    assert not errand.is_bare


def test_what_is_no_errand_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="message"):
        decode_delivery(b"{}")


async def test_a_queued_errand_is_stored_when_it_has_its_number() -> None:
    item = QueuedDelivery(Delivery(message=user_message()))
    assert not item.is_stored
    item.stored.set_result(3)
    assert item.is_stored
    assert item.waiters == []


async def test_one_that_could_not_be_stored_is_not() -> None:
    item = QueuedDelivery(Delivery(message=user_message()))
    item.stored.set_exception(StoreUnavailableError("disk full"))
    assert not item.is_stored


@pytest.mark.parametrize(
    ("seq", "trace"), [(1, ""), (2, "00-a-b-01"), (4, "00-a-b-01"), (5, ""), (9, "00-c-d-01 v=1")]
)
def test_an_event_is_of_the_trace_of_its_turn(seq: int, trace: str) -> None:
    traces = [(1, "00-a-b-01"), (4, ""), (6, "00-c-d-01 v=1")]
    turns = [
        JournalEntry(n=n, kind=TURN, name="", result=_turn(begun), seq=last)
        for n, (last, begun) in enumerate(traces, 1)
    ]
    step = JournalEntry(n=4, kind="step", name="s", result=b"null", seq=8)
    assert trace_at([*turns, step], seq) == trace


def _turn(trace: str) -> bytes:
    return encode(Delivery(message=user_message(), trace=trace))
