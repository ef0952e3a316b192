import pytest

from dragoman.bindings.http2.budgets import Budget
from dragoman.bindings.http2.errors import ConnectionFailedError, ErrorCode


def test_a_budget_is_spent_and_then_it_is_enough() -> None:
    budget = Budget(3, 1)
    for _ in range(3):
        budget.spend(0.0)
    with pytest.raises(ConnectionFailedError) as told:
        budget.spend(0.5)
    assert told.value.code is ErrorCode.ENHANCE_YOUR_CALM


def test_time_fills_it_but_not_beyond_its_size() -> None:
    budget = Budget(3, 1)
    for _ in range(3):
        budget.spend(0.0)
    for now in (1.0, 2.0, 3.0):
        budget.spend(now)
    for _ in range(3):
        budget.spend(1000.0)
    with pytest.raises(ConnectionFailedError):
        budget.spend(1000.0)


def test_more_can_be_earned_up_to_its_size() -> None:
    budget = Budget(2, 0)
    budget.spend(0.0)
    budget.earn(100)
    budget.spend(0.0)
    budget.spend(0.0)
    with pytest.raises(ConnectionFailedError):
        budget.spend(0.0)
