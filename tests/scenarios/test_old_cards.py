"""The card for readers of every version: one document for all, or the form that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from dragoman.dialects.v0_1.card import decode_card as decode_card_0_1
from dragoman.dialects.v0_3.card import decode_card as decode_card_0_3
from dragoman.dialects.v1_0.card import decode_card as decode_card_1_0
from dragoman.model.cards import AgentProvider
from tests.scenarios.agents import make_agent
from tests.scenarios.old_wire import V0_1, V0_2, V0_3, V1_0, Speaker, V0_3Http
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    from tests.support.wire import Json

PATHS: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json")
FORMS: Final = ("", "1.0", "0.3", "0.2", "0.1")

# Sections 2.1 and 3.4: what a reader of the version may insist on.
REQUIRED_0_1: Final = {"name", "url", "version", "capabilities", "skills"}
REQUIRED_0_3: Final = REQUIRED_0_1 | {
    "protocolVersion",
    "description",
    "defaultInputModes",
    "defaultOutputModes",
    "preferredTransport",  # R03-5.6.1-2: by the prose alone
}
REQUIRED_1_0: Final = (REQUIRED_0_1 - {"url"}) | {
    "description",
    "supportedInterfaces",
    "defaultInputModes",
    "defaultOutputModes",
}


@pytest.fixture(scope="module")
async def published() -> AsyncIterator[Served]:
    """An agent with everything that a card can say of it."""
    agent = make_agent(
        version="2.1",
        provider=AgentProvider(url="https://acme.example", organization="Acme"),
        documentation_url="https://acme.example/docs",
        icon_url="https://acme.example/icon.png",
        tenants=["acme"],
        extended_card=True,
    )
    async with serving(agent, advertise=("grpc",)) as served:
        yield served


@pytest.fixture
async def http(published: Served) -> AsyncIterator[httpx2.AsyncClient]:
    async with V0_3(published.url) as speaker:
        yield speaker.http


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    """Where 0.3 and 1.0 look, and where 0.1 and 0.2 do."""
    return request.param


async def get(http: httpx2.AsyncClient, path: str, version: str = "", **headers: str) -> Json:
    """Get the card in the form of a version; "" states none."""
    if version:
        headers["A2A-Version"] = version
    response = await http.get(path, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    return response.json()


# --- one document for all -----------------------------------------------------------------------


async def test_the_card_has_what_any_version_requires(http: httpx2.AsyncClient, path: str) -> None:
    card = await get(http, path)
    assert set(card) >= REQUIRED_0_1 | REQUIRED_0_3 | REQUIRED_1_0
    assert None not in card.values()
    # Section 5.2
    assert card["capabilities"]["stateTransitionHistory"] is False
    assert card["supportsAuthenticatedExtendedCard"] is True
    assert card["capabilities"]["extendedAgentCard"] is True


async def test_both_paths_have_the_same_card(http: httpx2.AsyncClient) -> None:
    first, second = [await http.get(path) for path in PATHS]
    assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])


async def test_readers_of_all_versions_see_the_same_agent(
    http: httpx2.AsyncClient, path: str
) -> None:
    body = (await http.get(path)).content
    new, middle, old = decode_card_1_0(body), decode_card_0_3(body), decode_card_0_1(body)
    for card in (new, middle, old):
        assert (card.name, card.version, card.description) == (
            "Stage",
            "2.1",
            "Does what a test needs.",
        )
        assert [skill.id for skill in card.skills] == [skill.id for skill in new.skills]
        assert [skill.input_modes for skill in card.skills] == [s.input_modes for s in new.skills]
        assert card.provider == new.provider
        assert card.capabilities.streaming is True
        assert card.default_input_modes == new.default_input_modes
    assert middle.icon_url == new.icon_url == "https://acme.example/icon.png"
    assert middle.capabilities.extended_agent_card is True


async def test_the_one_document_is_read_as_the_form_of_the_version(
    http: httpx2.AsyncClient,
) -> None:
    whole = (await http.get(PATHS[0])).content
    for version, decode in (
        ("1.0", decode_card_1_0),
        ("0.3", decode_card_0_3),
        ("0.1", decode_card_0_1),
    ):
        alone = (await http.get(PATHS[0], headers={"A2A-Version": version})).content
        assert decode(alone) == decode(whole)


# --- the form that was asked for ----------------------------------------------------------------


async def test_who_states_1_0_gets_its_card(http: httpx2.AsyncClient, path: str) -> None:
    card = await get(http, path, "1.0")
    assert set(card) >= REQUIRED_1_0
    assert not {"url", "preferredTransport", "additionalInterfaces", "protocolVersion"} & set(card)
    assert "supportsAuthenticatedExtendedCard" not in card


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "0.2", "0.2.5"])
async def test_who_states_0_3_or_0_2_gets_its_card(
    http: httpx2.AsyncClient, path: str, version: str
) -> None:
    card = await get(http, path, version)
    assert set(card) >= REQUIRED_0_3
    assert card["protocolVersion"] == "0.3.0"
    assert "supportedInterfaces" not in card
    assert "extendedAgentCard" not in card["capabilities"]
    assert all({"id", "name", "description", "tags"} <= set(skill) for skill in card["skills"])


async def test_who_states_0_1_gets_its_card(http: httpx2.AsyncClient, path: str) -> None:
    card = await get(http, path, "0.1")
    assert set(card) >= REQUIRED_0_1
    assert not {"protocolVersion", "supportedInterfaces", "preferredTransport"} & set(card)
    assert set(card["capabilities"]) <= {"streaming", "pushNotifications", "stateTransitionHistory"}


@pytest.mark.parametrize("version", ["9.9", "latest", "0.5"])
async def test_who_states_anything_else_gets_the_one_for_all(
    http: httpx2.AsyncClient, path: str, version: str
) -> None:
    assert await get(http, path, version) == await get(http, path)


async def test_the_form_may_be_asked_for_in_the_query(http: httpx2.AsyncClient) -> None:
    asked = await get(http, f"{PATHS[0]}?A2A-Version=0.1")
    assert asked == await get(http, PATHS[0], "0.1")


async def test_each_form_has_validators_of_its_own(http: httpx2.AsyncClient, path: str) -> None:
    tags: set[str] = set()
    for version in FORMS:
        headers = {"A2A-Version": version} if version else {}
        response = await http.get(path, headers=headers)
        assert "a2a-version" in response.headers["vary"].lower()
        assert "max-age" in response.headers["cache-control"]
        tag = response.headers["etag"]
        again = await http.get(path, headers={**headers, "If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        # A copy of another form is not good.
        for other in tags - {tag}:
            fresh = await http.get(path, headers={**headers, "If-None-Match": other})
            assert fresh.status_code == 200
        tags.add(tag)
    assert len(tags) == 4  # 0.2 and 0.3 have one form


async def test_other_verbs_are_refused(http: httpx2.AsyncClient, path: str) -> None:
    response = await http.post(path, json={})
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
    head = await http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len((await http.get(path)).content)


# --- one version alone --------------------------------------------------------------------------


async def test_a_card_of_1_0_alone_has_no_other_members() -> None:
    async with serving(make_agent(), card="1.0") as served, V0_3(served.url) as speaker:
        pure = await get(speaker.http, PATHS[0])
        assert pure == await get(speaker.http, PATHS[0], "1.0")
        assert not {"url", "protocolVersion", "preferredTransport", "additionalInterfaces"} & {
            *pure
        }
        # Who asks for another version, or where older ones look, is served as ever.
        assert (await get(speaker.http, PATHS[0], "0.3"))["protocolVersion"] == "0.3.0"
        assert (await get(speaker.http, PATHS[1]))["url"] == f"{served.url}/"


# --- interfaces ---------------------------------------------------------------------------------


async def test_every_version_and_binding_is_listed(
    http: httpx2.AsyncClient, published: Served
) -> None:
    card = await get(http, PATHS[0])
    root, grpc = f"{published.url}/", published.url.removeprefix("http://")
    listed = [
        (item["protocolVersion"], item["protocolBinding"], item["url"], item.get("tenant", ""))
        for item in card["supportedInterfaces"]
    ]
    assert listed == [
        ("1.0", "JSONRPC", root, ""),
        ("1.0", "HTTP+JSON", published.url, ""),
        ("1.0", "GRPC", grpc, ""),
        ("1.0", "JSONRPC", root, "acme"),
        ("1.0", "HTTP+JSON", published.url, "acme"),
        ("1.0", "GRPC", grpc, "acme"),
        # Section 5.2: readers of the older versions know no tenants.
        ("0.3", "JSONRPC", root, ""),
        ("0.3", "HTTP+JSON", published.url, ""),
        ("0.3", "GRPC", grpc, ""),
        ("0.2", "JSONRPC", root, ""),
        ("0.1", "JSONRPC", root, ""),
    ]


@pytest.mark.parametrize("version", ["", "0.3"])
async def test_readers_of_0_3_find_their_interfaces(
    http: httpx2.AsyncClient, published: Served, version: str
) -> None:
    card = await get(http, PATHS[0], version)
    root = f"{published.url}/"
    assert (card["url"], card["preferredTransport"]) == (root, "JSONRPC")
    # R03-5.6.2-1: the primary one is repeated. R03-5.6.4-1: no URL claims two transports.
    assert card["additionalInterfaces"] == [
        {"url": root, "transport": "JSONRPC"},
        {"url": published.url, "transport": "HTTP+JSON"},
        {"url": published.url.removeprefix("http://"), "transport": "GRPC"},
    ]


async def test_every_interface_answers_in_its_version(http: httpx2.AsyncClient) -> None:
    speakers: dict[tuple[str, str], type[Speaker]] = {
        ("1.0", "JSONRPC"): V1_0,
        ("0.3", "JSONRPC"): V0_3,
        ("0.3", "HTTP+JSON"): V0_3Http,
        ("0.2", "JSONRPC"): V0_2,
        ("0.1", "JSONRPC"): V0_1,
    }
    answered: set[tuple[str, str]] = set()
    for item in (await get(http, PATHS[0]))["supportedInterfaces"]:
        spoken = item["protocolVersion"], item["protocolBinding"]
        if spoken in speakers and not item.get("tenant"):
            async with speakers[spoken](item["url"], {"A2A-Version": spoken[0]}) as speaker:
                assert (await speaker.send("echo", "hello")).results == [["hello"]]
            answered.add(spoken)
    assert answered == set(speakers)


async def test_the_address_is_that_of_the_caller(http: httpx2.AsyncClient) -> None:
    forwarded = {"X-Forwarded-Host": "agents.example", "X-Forwarded-Proto": "https"}
    for version in FORMS:
        card = await get(http, PATHS[1], version, **forwarded)
        url = card.get("url") or card["supportedInterfaces"][0]["url"]
        assert url == "https://agents.example/"
