"""Tests and the requirements of the command line agree: each has a test that is named after it."""

from collections import Counter

from tests.cli.requirements import named_tests, rows


def claimed() -> set[str]:
    """The ids that names of tests begin with."""
    return {requirement for _, requirement in named_tests()}


def test_the_tiers_add_up() -> None:
    assert Counter(row.tier for row in rows()) == {"1": 39, "2": 15, "3": 12}
    assert len({row.id for row in rows()}) == 66
    assert {row.scope for row in rows()} <= {"now", "later"}


def test_every_requirement_that_is_due_has_a_test() -> None:
    due = {row.id for row in rows() if row.scope == "now"}
    assert due - claimed() == set()


def test_every_test_names_a_requirement_that_is_due() -> None:
    assert claimed() - {row.id for row in rows() if row.scope == "now"} == set()
