import pytest

from dragoman.bus.base import InboxFilled, ReplicaHint, TaskMoved, WorkReleased
from dragoman.bus.listeners import Listeners


def test_a_change_is_told_for_the_first_and_the_last_follower_only() -> None:
    changes: list[str] = []
    listeners = Listeners(changes.append)
    first, second = (listeners.follow("t1", lambda _: None) for _ in range(2))
    assert changes == ["t1"]
    first()
    first()
    assert changes == ["t1"]
    assert listeners.is_followed("t1")
    second()
    assert changes == ["t1", "t1"]
    assert not listeners.is_followed("t1")
    assert listeners.followed() == ()


def test_one_function_may_follow_twice() -> None:
    heard: list[int] = []
    listeners = Listeners()
    leave, _ = (listeners.follow("t1", heard.append) for _ in range(2))
    listeners.hear(TaskMoved("t1", 1))
    leave()
    leave()
    listeners.hear(TaskMoved("t1", 2))
    assert heard == [1, 1, 2]


def test_a_follower_may_leave_while_it_is_called() -> None:
    heard: list[int] = []
    listeners = Listeners()
    leave = listeners.follow("t1", lambda _: leave())
    listeners.follow("t1", heard.append)
    listeners.hear(TaskMoved("t1", 1))
    listeners.hear(TaskMoved("t1", 2))
    assert heard == [1, 2]


def test_leaving_what_was_ended_does_not_touch_who_came_after() -> None:
    heard: list[int] = []
    listeners = Listeners()
    leave = listeners.follow("t1", heard.append)
    listeners.end()
    listeners.follow("t1", heard.append)
    leave()
    listeners.hear(TaskMoved("t1", 3))
    assert heard == [3]


def test_before_and_after_its_time_nobody_is_called() -> None:
    hints: list[ReplicaHint] = []
    gaps: list[None] = []
    listeners = Listeners()
    listeners.hear(WorkReleased())
    listeners.hear_again()
    listeners.begin(hints.append, lambda: gaps.append(None))
    listeners.hear(InboxFilled("t1"))
    listeners.hear_again()
    listeners.end()
    listeners.hear(WorkReleased())
    listeners.hear_again()
    assert hints == [InboxFilled("t1")]
    assert gaps == [None]


def test_one_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: ReplicaHint) -> None:
        raise ValueError("this one")

    listeners = Listeners()
    listeners.begin(fail, lambda: None)
    listeners.hear(WorkReleased())
    assert "this one" in caplog.text
