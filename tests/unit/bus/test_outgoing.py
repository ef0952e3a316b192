from dragoman.bus.base import InboxFilled, Spent, TaskMoved, WorkReleased
from dragoman.bus.outgoing import Hints, Outgoing


class Wakes:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_moves_of_one_task_are_joined_to_the_latest() -> None:
    outgoing = Outgoing(Wakes())
    for seq in (1, 3, 2):
        outgoing.add(TaskMoved("t1", seq))
    outgoing.add(TaskMoved("t2", 1))
    assert outgoing.take() == Hints(moved={"t1": 3, "t2": 1})


def test_what_is_said_twice_is_sent_once() -> None:
    outgoing = Outgoing(Wakes())
    for _ in range(2):
        outgoing.add(InboxFilled("t1", "a"))
        outgoing.add(InboxFilled("t1", "b"))
        outgoing.add(WorkReleased())
    filled = (InboxFilled("t1", "a"), InboxFilled("t1", "b"))
    assert outgoing.take() == Hints(filled=filled, is_released=True)


def test_units_of_one_allowance_are_added_up() -> None:
    outgoing = Outgoing(Wakes())
    for units in (1, 2, 4):
        outgoing.add(Spent("a", units))
    outgoing.add(Spent("b", 8))
    assert outgoing.take() == Hints(spent={"a": 7, "b": 8})
    assert outgoing.take() is None


def test_what_was_taken_is_gone() -> None:
    outgoing = Outgoing(Wakes())
    outgoing.add(TaskMoved("t1", 1))
    outgoing.add(InboxFilled("t1"))
    outgoing.add(WorkReleased())
    outgoing.take()
    assert outgoing.take() is None
    outgoing.add(TaskMoved("t1", 1))
    assert outgoing.take() == Hints(moved={"t1": 1})


def test_there_is_one_wake_up_for_all_that_is_taken_together() -> None:
    wakes = Wakes()
    outgoing = Outgoing(wakes)
    for seq in range(100):
        outgoing.add(TaskMoved("t1", seq))
    assert wakes.count == 1
    outgoing.take()
    outgoing.add(WorkReleased())
    assert wakes.count == 2
