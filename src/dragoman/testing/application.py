"""The application of an agent under test: the one of production, set up for a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.clock import Clock
from dragoman.server.app import App
from dragoman.server.assembly import PublishedAgent, build_app
from dragoman.server.settings import load_settings
from dragoman.stores.base import TaskStore

__all__ = ("application",)

_DEFAULTS: Final = {
    # A test that leaves work behind does not wait for it.
    "shutdown_grace_seconds": 0.0,
}


def application(
    agent: PublishedAgent,
    *,
    store: str | TaskStore = "memory:",
    clock: Clock | None = None,
    settings: Mapping[str, object],
) -> App:
    """Make the application of an agent. The environment of the test run has no say in it.

    Raises:
        UsageError: a setting or the agent itself is wrong.
    """
    given: dict[str, object] = {**_DEFAULTS, **settings}
    if isinstance(store, str):
        return build_app(agent, load_settings({**given, "store": store}, {}), clock=clock)
    return build_app(agent, load_settings(given, {}), store=store, clock=clock)
