import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.bus.base import Hint, InboxFilled, Spent, TaskMoved, WorkReleased
from dragoman.bus.outgoing import Hints
from dragoman.bus.postgres import PAYLOAD_BYTES, decode_payload, encode_payloads

IDS = st.text(max_size=50)


def heard(payloads: list[str], hearer: str) -> list[Hint]:
    return [hint for payload in payloads for hint in decode_payload(payload, hearer)]


@given(
    moved=st.dictionaries(IDS, st.integers(0, 2**53)),
    filled=st.lists(IDS, unique=True),
    is_released=st.booleans(),
    spent=st.dictionaries(IDS, st.integers(1, 2**53)),
)
def test_another_replica_hears_all_that_was_said(
    *, moved: dict[str, int], filled: list[str], is_released: bool, spent: dict[str, int]
) -> None:
    inboxes = tuple(InboxFilled(task_id, "b") for task_id in filled)
    payloads = encode_payloads(
        "a", Hints(moved=moved, filled=inboxes, is_released=is_released, spent=spent)
    )
    moves = [TaskMoved(task_id, seq) for task_id, seq in moved.items()]
    released = [WorkReleased()] if is_released else []
    used = [Spent(allowance, units) for allowance, units in spent.items()]
    assert heard(payloads, "b") == [*moves, *inboxes, *released, *used]


def test_many_hints_take_several_notifications_that_fit() -> None:
    moved = {f"task-{number:030d}-ü": 10**9 + number for number in range(2000)}
    inboxes = tuple(InboxFilled(task_id) for task_id in moved)
    payloads = encode_payloads(
        "a" * 36, Hints(moved=moved, filled=inboxes, is_released=True, spent=moved)
    )
    assert all(len(payload.encode()) <= PAYLOAD_BYTES for payload in payloads)
    assert len(payloads) < 60
    hints = heard(payloads, "b")
    assert {hint.task_id: hint.seq for hint in hints if isinstance(hint, TaskMoved)} == moved
    assert [hint for hint in hints if isinstance(hint, InboxFilled)] == list(inboxes)
    assert {hint.allowance: hint.units for hint in hints if isinstance(hint, Spent)} == moved


def test_a_hint_that_fits_nowhere_is_left_out() -> None:
    moved = {"a": 1, "x" * PAYLOAD_BYTES: 2, "b": 3}
    payloads = encode_payloads("r", Hints(moved=moved))
    assert heard(payloads, "s") == [TaskMoved("a", 1), TaskMoved("b", 3)]


def test_the_sender_hears_nothing_of_it() -> None:
    payloads = encode_payloads("a", Hints(moved={"t1": 1}, is_released=True))
    assert heard(payloads, "a") == []


def test_an_inbox_concerns_its_holder_or_all() -> None:
    inboxes = (InboxFilled("t1", "b"), InboxFilled("t2", "c"), InboxFilled("t3"))
    payloads = encode_payloads("a", Hints(moved={}, filled=inboxes))
    assert heard(payloads, "b") == [InboxFilled("t1", "b"), InboxFilled("t3")]


def test_what_cannot_be_read_says_nothing() -> None:
    for text in ("", "{}", "[1]", '["a",[["t",-1.5]]]', "no JSON"):
        assert list(decode_payload(text, "b")) == []


def test_what_an_earlier_version_says_is_understood() -> None:
    assert list(decode_payload('["a",[],[],true]', "b")) == [WorkReleased()]


def test_members_that_a_later_version_adds_are_passed_over() -> None:
    later = json.dumps(["a", [["t1", 1]], [], False, [], "more"])
    assert list(decode_payload(later, "b")) == [TaskMoved("t1", 1)]
