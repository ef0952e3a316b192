"""Agents by a name; where that leads to is called within bounds."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dragoman import Agent, connect
from dragoman.client.connect import guarded_client, name_in
from dragoman.client.discovery.finding import Address
from dragoman.client.transports.tls import Tls
from dragoman.egress import DestinationRefusedError, EgressPolicy
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject
from tests.support.serving import serving

HERE = EgressPolicy.of("127.0.0.1:*", allow_http=True)


class Book:
    """A directory with one entry."""

    def __init__(self, url: str = "", policy: EgressPolicy | None = None) -> None:
        self.scheme = "book"
        self.policy = policy or EgressPolicy()
        self._url = url
        self.checked: list[str] = []

    async def find(self, name: str) -> str:
        if name != "echo":
            raise UsageError(f"no {name}")
        return self._url

    def check(self, name: str, document: bytes) -> None:
        assert document.startswith(b"{")
        self.checked.append(name)

    def marks(self, name: str, document: bytes) -> JsonObject:
        return {}


def echo() -> Agent:
    agent = Agent("Echo", "Repeats what it is told.")

    @agent.skill
    async def repeat(text: str) -> str:
        """Repeat."""
        return text

    return agent


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("book:echo", "echo"),
        ("book:", ""),
        ("book://echo", None),
        ("https://book.example", None),
        ("book", None),
        ("other:echo", None),
        (Path("book:echo"), None),
    ],
)
def test_names_are_told_from_addresses(address: Address, name: str | None) -> None:
    assert name_in(address, Book()) == name
    assert name_in(address, None) is None


async def test_an_agent_is_called_by_its_name() -> None:
    async with serving(echo()) as place:
        book = Book(place.url, HERE)
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
            async with connect("book:echo", directory=book, binding=binding) as agent:
                assert (await agent.send("hi")).text == "hi"
                interface = agent.interface
            # gRPC has its own way out, and does not keep the bounds.
            assert interface is not None
            assert interface.protocol_binding in ("JSONRPC", "HTTP+JSON")
        assert book.checked == ["echo"] * 3
        # A directory has no say in addresses that are none of its names.
        async with connect(place.url, directory=Book()) as agent:
            assert (await agent.send("hi")).text == "hi"


async def test_a_name_that_leads_inside_is_not_followed() -> None:
    async with serving(echo()) as place:
        with pytest.raises(DestinationRefusedError):
            async with connect("book:echo", directory=Book(place.url)):
                pass


async def test_whom_the_directory_does_not_know_is_not_called() -> None:
    with pytest.raises(UsageError, match="no nobody"):
        async with connect("book:nobody", directory=Book()):
            pass


async def test_whatever_is_called_is_within_bounds() -> None:
    async with serving(echo()) as place, AsyncExitStack() as stack:
        bound = await guarded_client(EgressPolicy(), Tls(), stack)
        with pytest.raises(DestinationRefusedError):
            await bound.get(place.url)
        free = await guarded_client(HERE, Tls(), stack)
        assert (await free.get(f"{place.url}/.well-known/agent-card.json")).status_code == 200
