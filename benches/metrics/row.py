"""A row of the result: one comparison, and what is wanted of it."""

from dataclasses import dataclass

__all__ = ("Row",)


@dataclass(frozen=True)
class Row:
    """One line of the result.

    With `theirs`, the verdict is on the ratio; without, `at_most` bounds the value itself.
    `limit` names a lane that shows how far one could get, `of_limit` the share of it we want, and
    `is_share_floor` whether less than that is a failure.
    """

    key: str
    title: str
    scenario: str
    value: str
    unit: str
    ours: str
    theirs: str | None = None
    is_lower_better: bool = False
    floor: float | None = None
    goal: float | None = None
    limit: str | None = None
    of_limit: float | None = None
    is_share_floor: bool = False
    at_most: float | None = None
    is_quick: bool = False
