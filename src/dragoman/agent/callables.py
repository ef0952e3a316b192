"""Callables: where the code of one is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

__all__ = ("underlying",)


def underlying(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that has the code: of a partial, of a callable object, or itself."""
    if isinstance(function, partial):
        inner: Callable[..., object] = function.func
        return underlying(inner)
    return function if inspect.isroutine(function) else type(function).__call__
