import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pytest

from dragoman.agent.context import Context
from dragoman.errors import DivergedError, UsageError
from tests.support.agent.remembering import RememberingTurn

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Receipt:
    number: int
    at: datetime


class Struct(msgspec.Struct):
    a: int


class Other(msgspec.Struct):
    b: int


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def taken(function: Callable[..., object], *args: object, name: str | None = None) -> object:
    """Take a step in a turn of its own."""
    return await Context(RememberingTurn()).step(function, *args, name=name)


# --- once -------------------------------------------------------------------------------------


async def test_a_step_that_is_recorded_is_not_taken_again() -> None:
    taken: list[int] = []

    async def pay(amount: int) -> str:
        taken.append(amount)
        return f"paid {amount}"

    first = RememberingTurn()
    assert await Context(first).step(pay, 5) == "paid 5"
    assert [(e.kind, e.name, e.result) for e in first.journal] == [("step", "pay", b'"paid 5"')]
    assert await Context(first.again()).step(pay, 7) == "paid 5"
    assert taken == [5]


async def test_a_result_of_none_is_a_result() -> None:
    taken: list[int] = []

    def note() -> None:
        taken.append(1)

    first = RememberingTurn()
    await Context(first).step(note)
    again = RememberingTurn("hi", first.journal)
    await Context(again).step(note)
    assert len(taken) == 1


async def test_what_a_step_raises_is_raised_and_not_recorded() -> None:
    async def fail() -> str:
        raise ConnectionError("no route")

    turn = RememberingTurn()
    with pytest.raises(ConnectionError, match="no route"):
        await Context(turn).step(fail)
    assert turn.journal == []


async def test_another_step_in_its_place_is_refused() -> None:
    turn = RememberingTurn()
    await Context(turn).step(len, "x")
    with pytest.raises(DivergedError, match=r"step 'len' was recorded here.*step 'repr'"):
        await Context(turn.again()).step(repr, "x")


async def test_everything_before_a_step_is_durable_when_it_is_taken() -> None:
    turn = RememberingTurn()
    ctx = Context(turn)
    ctx.now()

    def look() -> list[int]:
        return turn.flushed

    assert await ctx.step(look) == [1]


# --- the key ----------------------------------------------------------------------------------


async def pay(amount: int, *, idempotency_key: str) -> str:
    return f"{amount} by {idempotency_key}"


def pay_plainly(amount: int, idempotency_key: str) -> str:
    return f"{amount} by {idempotency_key}"


class Payer:
    def __call__(self, amount: int, idempotency_key: str) -> str:
        return f"{amount} by {idempotency_key}"


def pay_by_hint(amount: int, idempotency_key: str) -> "Decimal | str":
    """A result whose type only a type checker knows."""
    return f"{amount} by {idempotency_key}"


@pytest.mark.parametrize("function", [pay, pay_plainly, Payer(), partial(pay), pay_by_hint])
async def test_who_takes_a_key_is_given_one(function: Callable[..., object]) -> None:
    assert await taken(function, 5, name="pay") == "5 by task-1/1/pay"


async def test_the_key_is_that_of_the_place_and_the_same_until_it_is_recorded() -> None:
    keys: list[str] = []

    async def fail(idempotency_key: str) -> str:
        keys.append(idempotency_key)
        raise ConnectionError

    async def work(idempotency_key: str) -> str:
        keys.append(idempotency_key)
        return "done"

    turn = RememberingTurn()
    ctx = Context(turn)
    await ctx.step(len, "x")
    with pytest.raises(ConnectionError):
        await ctx.step(fail, name="work")
    again = turn.again()
    ctx = Context(again)
    await ctx.step(len, "x")
    await ctx.step(work)
    await ctx.step(work)
    assert keys == ["task-1/2/work", "task-1/2/work", "task-1/3/work"]


# --- functions of every kind ------------------------------------------------------------------


async def test_a_plain_function_runs_in_a_thread() -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await taken(where) is False


async def test_a_lambda_may_return_a_coroutine() -> None:
    async def double(n: int) -> int:
        return 2 * n

    assert await taken(lambda: double(4)) == 8
    assert await taken(partial(double, 4), name="double") == 8


def later(n: int) -> Awaitable[Struct]:
    """A plain function that returns a coroutine."""

    async def work() -> Struct:
        return Struct(n)

    return work()


async def test_the_type_of_what_it_returns_is_that_of_the_awaited() -> None:
    assert await taken(later, 3) == Struct(3)


async def test_a_step_has_the_name_of_its_function_or_the_one_it_is_given() -> None:
    turn = RememberingTurn()
    await Context(turn).step(len, "x")
    await Context(turn).step(len, "x", name="measure")
    assert turn.noted == [("step", "len"), ("step", "measure")]


async def test_a_function_without_a_name_has_to_be_given_one() -> None:
    with pytest.raises(UsageError, match=r"has no name of its own; call ctx\.step"):
        await taken(partial(len, "x"))
    assert await taken(partial(len, "x"), name="measure") == 1


async def test_a_builtin_that_tells_nothing_of_itself_may_be_a_step() -> None:
    assert await taken(max, 1, 2) == 2


async def test_a_function_that_cannot_be_told_from_another_may_be_a_step() -> None:
    class Unhashable:
        __hash__ = None  # pyright: ignore[reportAssignmentType] - what a class with __eq__ has

        def __call__(self) -> int:
            return 1

    assert await taken(Unhashable(), name="odd") == 1


# --- results ----------------------------------------------------------------------------------


def receipt() -> Receipt:
    return Receipt(7, NOON)


def receipts() -> dict[str, list[Receipt]]:
    return {"today": [Receipt(7, NOON)]}


def struct() -> Struct:
    return Struct(1)


def pair() -> tuple[int, str]:
    return (1, "x")


def raw() -> bytes:
    return b"\x00\xff"


@pytest.mark.parametrize("function", [receipt, receipts, struct, pair, raw])
async def test_a_result_comes_back_as_the_type_that_is_annotated(
    function: Callable[[], object],
) -> None:
    turn = RememberingTurn()
    first = await Context(turn).step(function)
    again = await Context(turn.again()).step(function)
    assert first == again == function()
    assert type(first) is type(again) is type(function())


async def test_without_an_annotation_it_is_what_json_makes_of_it_at_once() -> None:
    assert await taken(lambda: Receipt(7, NOON)) == {"number": 7, "at": "2026-01-01T12:00:00Z"}
    assert await taken(lambda: (1, 2)) == [1, 2]


async def test_a_result_that_is_no_json_is_refused_and_named() -> None:
    with pytest.raises(UsageError, match="the result of step 'opaque' cannot be recorded as JSON"):
        await taken(object, name="opaque")
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="step 'endless' cannot be recorded"):
        await taken(lambda: endless, name="endless")


async def test_a_result_that_is_not_what_it_says_is_refused_before_it_is_recorded() -> None:
    def lie() -> int:
        return "x"  # pyright: ignore[reportReturnType] - that is the point

    turn = RememberingTurn()
    with pytest.raises(UsageError, match="step 'lie' is not what its annotation says"):
        await Context(turn).step(lie)
    assert turn.journal == []


async def test_a_type_that_cannot_be_read_back_is_refused_before_the_step_is_taken() -> None:
    was_taken = False

    def either() -> Struct | Other:
        nonlocal was_taken
        was_taken = True
        return Struct(1)

    with pytest.raises(UsageError, match="step 'either' has a result that JSON cannot carry"):
        await taken(either)
    assert not was_taken


async def test_a_result_recorded_under_an_older_annotation_is_told() -> None:
    turn = RememberingTurn()
    await Context(turn).step(len, "x", name="receipt")
    with pytest.raises(UsageError, match="step 'receipt' is not what its annotation says"):
        await Context(turn.again()).step(receipt)
