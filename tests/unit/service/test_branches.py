import asyncio
from collections.abc import Awaitable

from dragoman.service.branches import MAIN, branch


async def test_a_branch_goes_with_the_code_that_runs_in_it() -> None:
    async def look() -> str:
        await asyncio.sleep(0)
        return branch.get()

    async def within(name: str, looking: Awaitable[str]) -> str:
        branch.set(name)
        return await looking

    made_before = [look(), look()]
    seen = await asyncio.gather(*(within(f"b{n}", one) for n, one in enumerate(made_before)))
    assert seen == ["b0", "b1"]
    assert branch.get() == MAIN
