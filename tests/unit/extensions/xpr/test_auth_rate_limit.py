"""How often one account may call."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.auth import SlidingWindow


def call(window: SlidingWindow, account: str, now_ms: int) -> int:
    wait_ms = window.wait_ms(account, now_ms)
    if not wait_ms:
        window.count(account, now_ms)
    return wait_ms


def test_so_many_in_any_minute() -> None:
    window = SlidingWindow(3)
    assert [call(window, "a", now) for now in (0, 10_000, 20_000)] == [0, 0, 0]
    assert call(window, "a", 30_000) == 30_000
    assert call(window, "b", 30_000) == 0
    assert call(window, "a", 59_999) == 1
    # One that was refused is not counted; one that is a minute old is forgotten.
    assert call(window, "a", 60_000) == 0
    assert call(window, "a", 60_001) == 9_999


@given(st.lists(st.integers(0, 20_000), max_size=60), st.integers(1, 5))
def test_no_minute_ever_has_more(pauses: list[int], limit: int) -> None:
    window, now_ms, taken = SlidingWindow(limit), 0, list[int]()
    for pause in pauses:
        now_ms += pause
        if not call(window, "a", now_ms):
            taken.append(now_ms)
    for start in taken:
        assert sum(start <= one < start + 60_000 for one in taken) <= limit


def test_the_memory_is_bounded() -> None:
    window = SlidingWindow(1, most=2)
    for account in ("a", "b", "c"):
        assert call(window, account, 0) == 0
    assert call(window, "c", 1) > 0
    assert call(window, "b", 1) > 0
    # The one that was counted longest ago is forgotten.
    assert call(window, "a", 1) == 0
