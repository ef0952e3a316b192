"""Steps: calls whose results are recorded, so that they are not made again."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from dragoman.agent.callables import underlying
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.service.worker import Turn

__all__ = ("take_step",)

T = TypeVar("T")

STEP: Final = "step"
_KEY: Final = "idempotency_key"


async def take_step(
    turn: Turn,
    function: Callable[..., Awaitable[T] | T],
    args: tuple[object, ...],
    name: str | None,
) -> T:
    """Return the recorded result of a step; take it, if there is none.

    Raises:
        UsageError: the result cannot be recorded.
    """
    name = name or getattr(function, "__name__", "")
    if not name:
        raise UsageError(f"{function!r} has no name of its own; call ctx.step(..., name=...)")
    # Before anything is done: what cannot be read back cannot be recorded.
    decode = _decoder_of(function, name)
    recorded = turn.recall(STEP, name)
    if recorded is None:
        # What the step may use, and the task itself, must not be lost when its effect is not.
        await turn.flush()
        # A call that was given up before may have left it without its slot.
        await turn.seated()
        named = {_KEY: turn.call_key(name)} if _takes_key(function) else {}
        recorded = _encode(await _call(function, args, named), name)
        _read(decode, recorded, name)
        await turn.record(STEP, name, recorded)
    # As it will be when it is recalled, so that the difference shows at once if there is one.
    return cast("T", _read(decode, recorded, name))


async def _call(
    function: Callable[..., object], args: tuple[object, ...], named: dict[str, str]
) -> object:
    if inspect.iscoroutinefunction(function):
        return await function(*args, **named)
    result = await asyncio.to_thread(function, *args, **named)
    # A plain function may return a coroutine: a lambda, a partial, a decorated one.
    return await result if inspect.isawaitable(result) else result


def _encode(value: object, name: str) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the result of step {name!r} cannot be recorded as JSON: {error}"
        ) from None


def _read(decode: Callable[[bytes], object], recorded: bytes, name: str) -> object:
    try:
        return decode(recorded)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the result of step {name!r} is not what its annotation says: {error}"
        ) from None


def _takes_key(function: Callable[..., object]) -> bool:
    try:
        return _KEY in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False  # A builtin, perhaps.


def _decoder_of(function: Callable[..., object], name: str) -> Callable[[bytes], object]:
    """Return what reads a recorded result as the type that the function's annotation names."""
    kind = _result_type(function)
    try:
        return msgspec.json.Decoder(kind).decode
    except TypeError as error:
        raise UsageError(f"step {name!r} has a result that JSON cannot carry: {error}") from None


def _result_type(function: Callable[..., object]) -> object:
    try:
        kind = get_type_hints(underlying(function)).get("return", object)
    except (TypeError, NameError):
        return object  # A builtin, or a name that only a type checker knows.
    if get_origin(kind) in (Awaitable, Coroutine):
        # A plain function that returns a coroutine.
        kind = get_args(kind)[-1]
    return object if kind in (None, type(None)) else kind
