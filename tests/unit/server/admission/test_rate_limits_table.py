"""The table of callers: bounded, and nobody gets rid of what he has used up."""

from __future__ import annotations

from dragoman.server.admission.rate_limits import CELLS, Rate, RateTable

NOW = 1_700_000_000_000
RATE = Rate(3, 1000)


def is_allowed(table: RateTable, caller: str, time_ms: int = 0) -> bool:
    """Ask, and count it if that is allowed."""
    verdict = table.weigh(caller, 1, NOW + time_ms)
    if verdict.is_allowed:
        table.count(caller, verdict)
    return verdict.is_allowed


def use_up(table: RateTable, caller: str, time_ms: int = 0) -> None:
    """Ask as often as that is allowed."""
    while is_allowed(table, caller, time_ms):
        pass


def flood(table: RateTable, strangers: int, time_ms: int = 0) -> None:
    """Have as many strangers ask once."""
    for number in range(strangers):
        is_allowed(table, f"stranger {number}", time_ms)


def test_callers_do_not_count_for_each_other() -> None:
    table = RateTable(RATE)
    use_up(table, "a")
    assert is_allowed(table, "b")
    assert not is_allowed(table, "a")


def test_what_was_weighed_and_not_counted_is_not_counted() -> None:
    table = RateTable(RATE)
    for _ in range(10):
        assert table.weigh("a", 1, NOW).remaining == 2
    assert len(table) == 0


def test_a_caller_is_remembered_for_as_long_as_that_makes_a_difference() -> None:
    table = RateTable(RATE)
    use_up(table, "a")
    for time_ms in range(0, 333, 10):
        assert not is_allowed(table, "a", time_ms)
    assert is_allowed(table, "a", 334)


def test_whoever_has_all_back_is_forgotten() -> None:
    table = RateTable(RATE)
    flood(table, 50)
    is_allowed(table, "a", 1000)
    is_allowed(table, "a", 2000)
    assert len(table) == 1


def test_turning_over_forgets_nobody_who_still_owes() -> None:
    table = RateTable(RATE)
    use_up(table, "a", 999)
    # The generations turn between these: a is in the older one, and still known.
    assert is_allowed(table, "b", 1001)
    assert not is_allowed(table, "a", 1002)


def test_made_up_callers_do_not_make_it_grow() -> None:
    table = RateTable(RATE, capacity=100)
    flood(table, 10_000)
    assert len(table) <= 100 + CELLS


def test_made_up_callers_push_nobody_out() -> None:
    table = RateTable(RATE, capacity=100)
    is_allowed(table, "known")
    flood(table, 10_000)
    # It has two left, as before: neither more nor less.
    assert table.weigh("known", 1, NOW).remaining == 1


def test_nobody_gets_rid_of_his_own_use_by_a_flood() -> None:
    table = RateTable(RATE, capacity=100)
    use_up(table, "attacker")
    flood(table, 10_000)
    assert not is_allowed(table, "attacker")


def test_who_comes_during_a_flood_shares_what_its_maker_has_used_up() -> None:
    table = RateTable(RATE, capacity=100)
    flood(table, 100)
    # Ten for each cell, and each cell has the allowance of one caller.
    allowed = sum(is_allowed(table, f"late {number}") for number in range(10 * CELLS))
    assert allowed <= RATE.units * CELLS
    # It is over as soon as all have theirs back.
    assert is_allowed(table, "late 0", 2001)
    assert table.weigh("late 0", 1, NOW + 4000).remaining == 2


def test_cells_are_forgotten_as_well() -> None:
    table = RateTable(RATE, capacity=1)
    flood(table, 5000)
    for time_ms in (2000, 4000):
        is_allowed(table, "a", time_ms)
    assert len(table) == 1


# --- shared with others ---------------------------------------------------------------------------


def told(table: RateTable, caller: str, costs: list[int], time_ms: int = 0) -> list[int]:
    """Count these costs; return what others are told at each."""
    found: list[int] = []
    for cost in costs:
        table.count(caller, table.weigh(caller, cost, NOW + time_ms))
        found.append(table.to_tell(caller, cost))
    return found


def test_others_are_told_part_by_part() -> None:
    table = RateTable(Rate(80, 1000))
    assert told(table, "a", [4, 5, 1, 10, 25, 3]) == [0, 0, 10, 10, 25, 0]


def test_of_a_small_allowance_others_are_told_everything() -> None:
    assert told(RateTable(RATE), "a", [1, 1, 1]) == [1, 1, 1]


def test_what_costs_nothing_is_not_told() -> None:
    assert told(RateTable(RATE), "a", [0, 0]) == [0, 0]


def test_callers_are_not_told_as_each_other() -> None:
    table = RateTable(Rate(80, 1000))
    assert told(table, "a", [9]) + told(table, "b", [9]) + told(table, "a", [1]) == [0, 0, 10]


def test_what_was_not_told_in_a_period_never_is() -> None:
    table = RateTable(Rate(80, 1000))
    assert told(table, "a", [9]) == [0]
    assert told(table, "a", [9], 1000) == [0]


def test_strangers_in_a_flood_are_not_told() -> None:
    table = RateTable(RATE, capacity=1)
    assert told(table, "a", [1]) + told(table, "b", [1]) == [1, 0]


def test_what_others_tell_is_used_up_here() -> None:
    table = RateTable(RATE)
    table.charge("a", 2, NOW)
    assert is_allowed(table, "a")
    assert not is_allowed(table, "a")
    assert is_allowed(table, "b")


def test_what_others_tell_makes_it_grow_no_further() -> None:
    table = RateTable(RATE, capacity=100)
    for number in range(10_000):
        table.charge(f"stranger {number}", 1, NOW)
    assert len(table) <= 100 + CELLS
