"""An agent below a path: every binding is there, and its card is where clients look for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from dragoman import connect
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.outgoing.credentials import ApiKey
from dragoman.client.discovery.card_cache import CardCache
from dragoman.errors import UsageError
from dragoman.model.cards import AgentInterface
from tests.scenarios.clients import WAYS, Way
from tests.scenarios.guarding import KEY_HEADER, PEOPLE, guarded_agent
from tests.support.serving import Served, serving

PATH = "/a2a/v1"
EXTENDED = "agent/authenticatedExtendedCard"
KEY = ApiKey("key-of-ada", name=KEY_HEADER)


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    agent = guarded_agent(auth=[ApiKeys(PEOPLE, parameter=KEY_HEADER)])
    async with serving(agent, path=PATH) as place:
        yield place


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {KEY_HEADER: "key-of-ada"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers) as client:
        yield client


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("address", ["", PATH, f"{PATH}/"])
async def test_every_binding_of_every_version_is_below_the_path(
    served: Served, way: Way, address: str
) -> None:
    async with way.connect(f"{served.url}{address}", auth=KEY) as agent:
        assert "ada" in str((await agent.send("hello", skill="whoami")).data)
        assert agent.interface is not None
        spoken = (agent.interface.protocol_version, agent.interface.protocol_binding)
        assert spoken == tuple(way)


@pytest.mark.parametrize("place", ["", PATH])
@pytest.mark.parametrize("name", ["agent-card.json", "agent.json"])
async def test_the_card_is_at_its_well_known_places_and_names_the_path(
    http: httpx2.AsyncClient, served: Served, place: str, name: str
) -> None:
    card = (await http.get(f"{place}/.well-known/{name}")).json()
    assert card["url"] == f"{served.url}{PATH}/"
    listed = {interface["url"].rstrip("/") for interface in card["supportedInterfaces"]}
    assert listed == {f"{served.url}{PATH}"}


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "/"),
        ("POST", "/a2a"),
        ("POST", "/message:send"),
        ("POST", "/v1/message:send"),
        ("GET", "/tasks"),
        ("GET", "/a2a/v10/tasks"),
    ],
)
async def test_nothing_is_called_elsewhere(http: httpx2.AsyncClient, verb: str, path: str) -> None:
    assert (await http.request(verb, path, json={})).status_code == 404


async def test_health_is_told_at_the_root(http: httpx2.AsyncClient) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await http.get(path)).status_code == 200


# 0.x reference, 3.2: the last segment of the URL is dropped; some clients keep it.
@pytest.mark.parametrize("place", ["/a2a", PATH])
async def test_the_extended_card_of_0_2_is_beside_the_url(
    http: httpx2.AsyncClient, place: str
) -> None:
    found = await http.get(f"{place}/{EXTENDED}")
    assert found.status_code == 200
    assert "cellar" in [skill["id"] for skill in found.json()["skills"]]


@pytest.mark.parametrize("end", ["", "/"])
async def test_the_client_seeks_it_there(served: Served, end: str) -> None:
    interface = AgentInterface(
        url=f"{served.url}{PATH}{end}", protocol_binding="JSONRPC", protocol_version="0.2"
    )
    headers = {KEY_HEADER: "key-of-ada"}
    async with connect(interface, headers=headers, cards=CardCache()) as agent:
        assert "cellar" in [skill.id for skill in (await agent.extended_card()).skills]


@pytest.mark.parametrize("path", ["a2a", "/a2a/", "/a b", "/.well-known/x", "//"])
async def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="path"):
        async with serving(guarded_agent(), path=path):
            pass
