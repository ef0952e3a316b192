import pytest

from dragoman import Agent, connect
from dragoman.agent.peers import Peer, Peers
from dragoman.client.errors import ClientError
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.testing import served
from dragoman.testing.turn import RecordingTurn

TURN = RecordingTurn("hi")


def echo() -> Agent:
    """Return an agent to call."""
    agent = Agent("Echo", "Repeats.")

    @agent.skill
    async def repeat(text: str) -> str:
        """Repeat."""
        return text

    return agent


def test_agents_are_named_by_address_by_card_or_as_one_likes() -> None:
    card = AgentCard(
        name="Flights",
        description="Finds.",
        version="1",
        supported_interfaces=(
            AgentInterface(url="http://f", protocol_binding="JSONRPC", protocol_version="1.0"),
        ),
        capabilities=AgentCapabilities(),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(),
    )
    peers = Peers("Travel")
    assert peers.name("http://a") == "http://a"
    assert peers.url("http://a") == "http://a"
    assert peers.name(card) == "Flights"
    assert peers.name(Peer("http://b", name="hotels")) == "hotels"
    assert peers.url("hotels") == "http://b"
    # What was named can be called by its name.
    assert peers.name("hotels") == "hotels"
    assert peers.url("hotels") == "http://b"
    assert peers.name(echo()) == "Echo"
    assert peers.url("Echo") == peers.url("nobody") == ""


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(UsageError, match="7 cannot be called"):
        Peers().name(7)  # type: ignore[arg-type] - what a careless author writes


async def test_a_connection_is_made_once_and_kept() -> None:
    async with served(echo()) as there:
        peers = Peers()
        name = peers.name(there.url)
        agent = await peers.agent(name, TURN)
        assert await peers.agent(name, TURN) is agent
        assert (await agent.send("hello")).text == "hello"
        await peers.aclose()


async def test_who_could_not_be_reached_is_tried_again() -> None:
    peers = Peers()
    async with served(echo()) as there:
        url = there.url
    for _ in range(2):
        with pytest.raises(ClientError):
            await peers.agent(peers.name(url), TURN)
    await peers.aclose()


async def test_a_connection_of_the_authors_own_is_used_as_it_is() -> None:
    async with served(echo()) as there, connect(there.url) as agent:
        peers = Peers()
        name = peers.name(agent)
        assert name == "Echo"
        assert await peers.agent(name, TURN) is agent
        await agent.send("hello")
        assert peers.url(name).startswith(there.url)
        await peers.aclose()


async def test_an_agent_of_this_process_is_called_by_the_same_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    peers = Peers()
    agent = await peers.agent(peers.name(echo()), RecordingTurn("hi", owner="ada"))
    assert (await agent.send("hello")).text == "hello"
    assert agent.call.owner == "ada"
    assert [reply.text async for reply in agent.tasks(include_artifacts=True)] == ["hello"]
    await peers.aclose()
