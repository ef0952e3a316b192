import asyncio

import pytest

from dragoman.errors import StoreUnavailableError
from dragoman.stores.base import Done
from dragoman.stores.shared.reporting import reported


async def test_a_write_is_waited_for() -> None:
    reports: list[Done] = []
    waiting = asyncio.ensure_future(reported(reports.append))
    await asyncio.sleep(0)
    assert not waiting.done()
    reports[0](None)
    await waiting


async def test_what_the_store_says_against_it_is_raised() -> None:
    with pytest.raises(StoreUnavailableError, match="full"):
        await reported(lambda done: done(StoreUnavailableError("full")))


async def test_a_report_that_nobody_waits_for_any_more_hurts_nobody() -> None:
    reports: list[Done] = []
    waiting = asyncio.ensure_future(reported(reports.append))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    reports[0](StoreUnavailableError("late"))
