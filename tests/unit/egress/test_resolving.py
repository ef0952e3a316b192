import asyncio
from collections.abc import Generator
from ipaddress import ip_address

import pytest

from dragoman.egress.resolving import SystemResolver


@pytest.fixture
def resolver() -> Generator[SystemResolver]:
    resolver = SystemResolver()
    yield resolver
    resolver.close()


async def test_the_machine_knows_itself(resolver: SystemResolver) -> None:
    found = await resolver.resolve("localhost")
    assert found
    assert all(address.is_loopback for address in found)
    assert len(set(found)) == len(found)


async def test_an_address_is_its_own(resolver: SystemResolver) -> None:
    assert await resolver.resolve("127.0.0.1") == (ip_address("127.0.0.1"),)


@pytest.mark.parametrize("name", ["a..b", "x" * 300])
async def test_a_name_that_cannot_be_looked_up_has_no_address(
    resolver: SystemResolver, name: str
) -> None:
    with pytest.raises(OSError, match=r".+"):
        await resolver.resolve(name)


async def test_many_ask_at_once(resolver: SystemResolver) -> None:
    found = await asyncio.gather(*(resolver.resolve("127.0.0.1") for _ in range(50)))
    assert set(found) == {(ip_address("127.0.0.1"),)}
