"""SyncContext has what Context has."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from dragoman.agent.context import Context
from dragoman.agent.sync_context import SyncContext

NOT_FOR_THREADS = {"gather"}
"""It takes awaitables, which a plain function does not have."""

METHODS = sorted(
    name
    for name, member in vars(Context).items()
    if not name.startswith("_") and inspect.isfunction(member) and name not in NOT_FOR_THREADS
)


def method_of(owner: type, name: str) -> Callable[..., object]:
    method = getattr(owner, name, None)
    assert callable(method), f"{owner.__name__} lacks {name}: add it to the table in sync_context"
    return method


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_context_blocks_and_is_otherwise_the_same(name: str) -> None:
    original, blocking = method_of(Context, name), method_of(SyncContext, name)
    assert not inspect.iscoroutinefunction(blocking)
    assert not inspect.isasyncgenfunction(blocking)
    assert inspect.getdoc(blocking) == inspect.getdoc(original)
    assert (
        inspect.signature(blocking).parameters.keys()
        == inspect.signature(original).parameters.keys()
    )


def test_it_has_nothing_of_its_own() -> None:
    public = {name for name in dir(SyncContext) if not name.startswith("_")}
    assert public == {name for name in dir(Context) if not name.startswith("_")} - NOT_FOR_THREADS
