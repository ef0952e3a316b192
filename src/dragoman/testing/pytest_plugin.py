"""The pytest plugin: a pair, its wire and its clock as fixtures, and the wire of a test that fails.

pytest loads it wherever Dragoman is installed, so it imports nothing else of ours until a test asks
for a fixture. The fixtures share a prefix: ``wire`` and ``clock`` alone are names that a project is
likely to have fixtures of its own for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dragoman.testing.clock import FakeClock
    from dragoman.testing.pairing import Pairing, SyncPairing
    from dragoman.testing.wire import Wire

__all__ = (
    "agent_clock",
    "agent_pair",
    "agent_pair_sync",
    "agent_wire",
    "pytest_runtest_makereport",
)

_SECTION = "A2A wire"


@pytest.fixture
def agent_wire() -> Wire:
    """Give the record of what the pairs of this test say; it is shown if the test fails."""
    from dragoman.testing.wire import Wire  # noqa: PLC0415 - only for tests that use it

    return Wire()


@pytest.fixture
def agent_clock() -> FakeClock:
    """Give a clock that stands still until it is moved; the pairs of this test go by it."""
    from dragoman.testing.clock import FakeClock  # noqa: PLC0415 - only for tests that use it

    return FakeClock()


@pytest.fixture
def agent_pair(request: pytest.FixtureRequest, agent_wire: Wire) -> Pairing:
    """Give ``dragoman.testing.pair``, to be used in ``async with``."""
    from dragoman.testing.pairing import pair  # noqa: PLC0415 - only for tests that use it

    return partial(pair, record=agent_wire, clock=_clock_of(request))


@pytest.fixture
def agent_pair_sync(request: pytest.FixtureRequest, agent_wire: Wire) -> SyncPairing:
    """Give ``dragoman.testing.pair_sync``, to be used in ``with``, by tests that are not async."""
    from dragoman.testing.pairing import pair_sync  # noqa: PLC0415 - only for tests that use it

    return partial(pair_sync, record=agent_wire, clock=_clock_of(request))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add the wire to the report of a test that fails."""
    if call.when == "call" and call.excinfo is not None:
        wire = getattr(item, "funcargs", {}).get("agent_wire")
        if wire is not None and wire.exchanges:
            item.add_report_section("call", _SECTION, str(wire))


def _clock_of(request: pytest.FixtureRequest) -> FakeClock | None:
    """Return the clock if the test uses it: one that nobody moves would stop the server's time."""
    if "agent_clock" not in request.fixturenames:
        return None
    clock: FakeClock = request.getfixturevalue("agent_clock")
    return clock
