import pytest

from dragoman.cli.session.following import Gaps


def test_gaps_grow_while_nothing_changes() -> None:
    gaps = Gaps(2)
    assert gaps.first() == 2
    assert [gaps.after(has_changed=False) for _ in range(5)] == [3, 4.5, 6.75, 10, 10]


def test_a_change_brings_the_interval_back() -> None:
    gaps = Gaps(2)
    gaps.after(has_changed=False)
    assert gaps.after(has_changed=True) == 2
    assert gaps.after(has_changed=False) == 3


@pytest.mark.parametrize("interval", [0, 0.01])
def test_no_interval_is_below_a_tenth_of_a_second(interval: float) -> None:
    assert Gaps(interval).first() == 0.1


def test_a_long_interval_is_not_shortened() -> None:
    gaps = Gaps(60)
    assert gaps.after(has_changed=False) == 60
