import asyncio
from ipaddress import ip_address

import httpcore2
import pytest

from dragoman.egress.connecting import PinnedBackend
from dragoman.egress.errors import DestinationRefusedError
from dragoman.egress.policy import EgressPolicy
from tests.support.egress.hosts import NAME, Names, inner, trap


async def test_a_name_is_resolved_once_and_its_address_called() -> None:
    names = Names(hooks_test=("127.0.0.1", "::1"))
    with trap() as host:
        backend = PinnedBackend(inner(host.port), names)
        stream = await backend.connect_tcp(NAME, host.port)
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", host.port)
        await stream.aclose()
        assert host.callers() == 1
    assert names.asked == [NAME]


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    # 127.1.1.1 is this machine, but nobody listens there.
    names = Names(hooks_test="127.1.1.1 127.1.1.2 127.0.0.1")
    with trap() as host:
        backend = PinnedBackend(inner(host.port), names)
        stream = await backend.connect_tcp(NAME, host.port)
        assert stream.get_extra_info("server_addr")[0] == "127.0.0.1"
        await stream.aclose()


async def test_one_bad_address_spoils_all() -> None:
    names = Names(hooks_test="127.0.0.1 169.254.169.254")
    with trap() as host:
        backend = PinnedBackend(inner(host.port), names)
        with pytest.raises(DestinationRefusedError) as refused:
            await backend.connect_tcp(NAME, host.port)
        assert refused.value.rule == "metadata"
        assert refused.value.address == "169.254.169.254"
        assert host.callers() == 0


async def test_an_address_is_checked_and_not_resolved() -> None:
    names = Names()
    backend = PinnedBackend(EgressPolicy(), names)
    assert await backend.addresses_of("93.184.216.34", 443) == (ip_address("93.184.216.34"),)
    with pytest.raises(DestinationRefusedError):
        await backend.addresses_of("127.0.0.1", 443)
    assert names.asked == []


@pytest.mark.parametrize("answer", [{}, {"hooks_test": ""}])
async def test_a_name_without_an_address_cannot_be_connected_to(answer: dict[str, str]) -> None:
    backend = PinnedBackend(inner(443), Names(**answer))
    with pytest.raises(httpcore2.ConnectError):
        await backend.connect_tcp(NAME, 443)


async def test_where_nobody_listens_there_is_no_connection() -> None:
    with trap() as host:
        port = host.port
    backend = PinnedBackend(inner(port), Names(hooks_test="127.0.0.1 ::1"))
    with pytest.raises(httpcore2.ConnectError):
        await backend.connect_tcp(NAME, port)


async def test_a_name_server_that_keeps_silent_is_not_waited_for() -> None:
    class Silent(Names):
        async def resolve(self, host: str) -> tuple[()]:
            await asyncio.Event().wait()
            return ()

    backend = PinnedBackend(inner(443), Silent())
    with pytest.raises(httpcore2.ConnectTimeout):
        await backend.connect_tcp(NAME, 443, timeout=0.05)
