from typing import Final

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import Placed
from dragoman.stores.postgres.batch import (
    LogStep,
    Post,
    PostStep,
    Release,
    TakeOver,
    TakeOverStep,
    Write,
    is_urgent,
    plan_steps,
    size_of,
)
from dragoman.stores.shared.folding import RefusedError
from tests.contracts.storing import chunk, creation, send, snapshot, with_journal


def post(task_id: str = "t1") -> Post:
    return Post(task_id, b"x", None, is_foreign=True)


def shape(*writes: Write) -> list[tuple[str, list[int]]]:
    """Name the steps of a batch and the places of their writes."""
    return [
        (type(step).__name__.removesuffix("Step"), [number for number, _ in step.writes])
        for step in plan_steps(writes)
    ]


SHAPES: Final[dict[str, tuple[list[Write], list[tuple[str, list[int]]]]]] = {
    "nothing": ([], []),
    "all of one kind go together": (
        [creation("t1"), send("m1"), chunk(1, task_id="t1"), creation("t2")],
        [("Log", [0, 1, 2, 3])],
    ),
    "of other tasks, kinds go together past each other": (
        [creation("t1"), post("t8"), creation("t2"), post("t9")],
        [("Log", [0, 2]), ("Post", [1, 3])],
    ),
    "a task keeps its order": (
        [chunk(1), post(), chunk(2), post()],
        [("Log", [0]), ("Post", [1]), ("Log", [2]), ("Post", [3])],
    ),
    "what follows a task joins the next step of its kind": (
        [chunk(1), TakeOver("t1", 1, None), chunk(1, epoch=2), chunk(1, task_id="t2")],
        [("Log", [0, 3]), ("TakeOver", [1]), ("Log", [2])],
    ),
    "a lease changes once in a step": (
        [TakeOver("t1", 1, None), TakeOver("t2", 1, None), TakeOver("t1", 2, None)],
        [("TakeOver", [0, 1]), ("TakeOver", [2])],
    ),
    "a task is released after what was said of it": (
        [chunk(1), Release("t1", 1), chunk(1, task_id="t2")],
        [("Log", [0, 2]), ("Release", [1])],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_batch_has_as_few_steps_as_its_order_allows(name: str) -> None:
    writes, expected = SHAPES[name]
    assert shape(*writes) == expected


def test_halves_keep_the_order_and_the_kind() -> None:
    (step,) = plan_steps([creation(f"t{n}") for n in range(5)])
    first, second = step.halves()
    assert isinstance(first, LogStep)
    assert [number for number, _ in (*first.writes, *second.writes)] == [0, 1, 2, 3, 4]
    assert len(first.writes) == 2


def test_a_write_that_does_not_continue_the_one_before_is_refused_unsent() -> None:
    (step,) = plan_steps([chunk(1), chunk(1)])
    with pytest.raises(RefusedError):
        step.pieces(holder="", shard=0)


def test_each_post_is_told_its_place() -> None:
    first, nowhere, late = post("t1"), post("t9"), post("t2")
    (step,) = plan_steps([first, nowhere, late])
    assert isinstance(step, PostStep)
    outcomes = step.outcomes([4, 2, 7, None, None, None, 0, 3, 9])
    assert [type(outcome) for outcome in outcomes] == [type(None), ConflictError, type(None)]
    assert first.placed == Placed(4, TaskState.WORKING, 7)
    assert nowhere.placed is None
    assert late.placed == Placed(0, TaskState.COMPLETED, 9)


def test_posts_of_one_task_are_counted() -> None:
    (step,) = plan_steps([post("t1"), post("t2"), post("t1")])
    ((name, columns), *_) = step.pieces(holder="", shard=0)
    assert (name, columns[0], columns[1]) == ("posts", ("t1", "t2", "t1"), (1, 1, 2))


def test_a_lease_that_was_not_the_given_one_is_refused() -> None:
    (step,) = plan_steps([TakeOver("t1", 1, None), TakeOver("t2", 1, None)])
    assert isinstance(step, TakeOverStep)
    assert [type(o) for o in step.outcomes([2, None])] == [type(None), ConflictError]


def test_what_may_be_large_is_measured() -> None:
    assert size_of(chunk(1, entries=(b"12345", b"678"))) == 8
    written = replace(with_journal(1, 1), snapshot=snapshot("x"))
    assert size_of(written) > sum(map(len, written.entries)) + len(snapshot("x").history)
    assert (size_of(post()), size_of(send("m1"))) == (1, 0)


def test_what_somebody_waits_for_is_urgent() -> None:
    assert is_urgent(creation())
    assert is_urgent(post())
    assert is_urgent(TakeOver("t1", 1, None))
    assert not is_urgent(chunk(1))
