"""The Agent Card: what is in it, under which addresses, and for how long it may be kept."""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from dragoman import Agent, UsageError
from dragoman.server.assembly import build_app
from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import HttpJson, JsonRpc
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dragoman.server.app import App

PATH = "/.well-known/agent-card.json"


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that knows nothing but the address."""
    async with httpx2.AsyncClient(base_url=served.url, trust_env=False) as client:
        yield client


def direct(app: App, *, client: str = "127.0.0.1", root_path: str = "") -> httpx2.AsyncClient:
    """Return a client that calls an application without a socket, from this address."""
    transport = httpx2.ASGITransport(app, client=(client, 40000), root_path=root_path)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")


def app(**settings: object) -> App:
    return build_app(make_agent(), {"store": "memory:", **settings})


async def addresses(client: httpx2.AsyncClient, **headers: str) -> list[str]:
    """Return the HTTP addresses of 1.0 in the card, in order."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await client.get(PATH, headers=named)
    assert response.status_code == 200, response.text
    return urls_of(response.json())


def urls_of(card: Json) -> list[str]:
    interfaces = card["supportedInterfaces"]
    ours = [item["url"] for item in interfaces if item["protocolVersion"] == "1.0"]
    return [url for url in ours if url.startswith("http")]


# --- content ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.1-1", "R-8.2-1", "R-14.3-1", "R-14.3-2")
async def test_the_card_is_at_its_well_known_place_for_everybody(http: httpx2.AsyncClient) -> None:
    response = await http.get(PATH)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json()["name"] == "Stage"


@pytest.mark.requirement("R-14.3-1", "R-5.7-1", "R-5.7-3", "R-8.3-1", "R-4.4.6-4", "R-3.6-2")
async def test_the_card_has_everything_a_card_must_have(
    http: httpx2.AsyncClient, served: Served
) -> None:
    card: Json = (await http.get(PATH, headers={"A2A-Version": "1.0"})).json()
    skills = card.pop("skills")
    extensions = card["capabilities"].pop("extensions")
    assert card == {
        "name": "Stage",
        "description": "Does what a test needs.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{served.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": served.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": f"{served.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": served.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
            {"url": f"{served.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.2"},
            {"url": f"{served.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.1"},
        ],
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extendedAgentCard": False,
        },
        "defaultInputModes": ["text/plain", "application/json", "image/*"],
        "defaultOutputModes": card["defaultOutputModes"],
    }
    assert card["defaultOutputModes"]
    assert skills[0] == {
        "id": "echo",
        "name": "Echo",
        "description": "Return the text.",
        "tags": ["echo"],
        "inputModes": ["text/plain"],
        "outputModes": ["text/plain"],
    }
    for skill in skills:
        assert all(skill[member] for member in ("id", "name", "description", "tags"))
    # The shape of the data a skill takes has no member of its own in 1.0.
    assert extensions[0]["params"]["count_to"]["input"]["properties"] == {
        "upto": {"type": "integer"}
    }


async def test_what_the_author_says_is_in_the_card() -> None:
    agent = make_agent(
        version="2.3.4",
        provider=("Example", "https://example.com/"),
        documentation_url="https://example.com/docs",
        icon_url="https://example.com/icon.png",
        input_modes=["text/plain"],
        output_modes=["application/json"],
    )
    async with direct(build_app(agent, {"store": "memory:"})) as client:
        card = (await client.get(PATH)).json()
    assert card["version"] == "2.3.4"
    assert card["provider"] == {"organization": "Example", "url": "https://example.com/"}
    assert card["documentationUrl"] == "https://example.com/docs"
    assert card["iconUrl"] == "https://example.com/icon.png"
    assert card["defaultInputModes"] == ["text/plain"]
    assert card["defaultOutputModes"] == ["application/json"]


@pytest.mark.requirement("R-5.2-1", "R-8.3.1-1", "R-8.3.1-2", "R-8.3.1-3", "R-8.3-1")
async def test_every_interface_in_the_card_is_what_it_says(http: httpx2.AsyncClient) -> None:
    card = (await http.get(PATH)).json()
    kinds: dict[str, Any] = {"JSONRPC": JsonRpc, "HTTP+JSON": HttpJson}
    answers: list[Json] = []
    sent = message("through the card")
    for interface in card["supportedInterfaces"]:
        if interface["protocolVersion"] != "1.0":
            continue
        async with kinds.pop(interface["protocolBinding"])(interface["url"]) as wire:
            answers.append(await wire.task(sent))
    assert kinds == {}
    assert answers[0] == answers[1]
    # The preferred one is first: one round trip for everything, and what most clients speak.
    assert card["supportedInterfaces"][0]["protocolBinding"] == "JSONRPC"


@pytest.mark.requirement("R-14.3-3")
async def test_the_card_tells_nothing_of_the_inside() -> None:
    async with direct(app(store="sqlite:////secret/place.db", max_parts=7)) as client:
        text = (await client.get(PATH)).text
    for inside in ("secret", "sqlite", "max_parts", "python", "/work", "Traceback"):
        assert inside not in text


async def test_an_agent_with_no_skills_is_not_published() -> None:
    with pytest.raises(UsageError, match="has no skills"):
        build_app(Agent("Empty"), {"store": "memory:"})


# --- caching ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.6-1", "R-8.6.1-1", "R-8.6.1-2", "R-8.6.1-3")
async def test_the_card_comes_with_all_that_a_cache_needs(http: httpx2.AsyncClient) -> None:
    headers = (await http.get(PATH)).headers
    assert headers["cache-control"] == "public, max-age=3600"
    assert headers["etag"].startswith('"')
    assert headers["etag"].endswith('"')
    parsedate_to_datetime(headers["last-modified"])


@pytest.mark.requirement("R-8.6.1-1")
async def test_how_long_the_card_may_be_kept_can_be_set() -> None:
    async with direct(app(card_max_age_seconds=5)) as client:
        assert (await client.get(PATH)).headers["cache-control"] == "public, max-age=5"


@pytest.mark.requirement("R-8.6.1-2")
async def test_the_etag_follows_the_content() -> None:
    tags = set[str]()
    for version in ("1.0.0", "1.0.0", "1.0.1"):
        agent = make_agent(version=version)
        async with direct(build_app(agent, {"store": "memory:"})) as client:
            tags.add((await client.get(PATH)).headers["etag"])
    assert len(tags) == 2


@pytest.mark.requirement("R-8.6-1")
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a",{},"b"', "*"])
async def test_a_card_that_is_known_by_its_etag_is_not_sent_again(
    http: httpx2.AsyncClient, form: str
) -> None:
    known = (await http.get(PATH)).headers
    response = await http.get(PATH, headers={"If-None-Match": form.format(known["etag"])})
    assert response.status_code == 304
    assert response.content == b""
    for name in ("etag", "last-modified", "cache-control", "vary"):
        assert response.headers[name] == known[name]


@pytest.mark.requirement("R-8.6-1")
async def test_a_card_that_is_not_modified_since_is_not_sent_again(
    http: httpx2.AsyncClient,
) -> None:
    known = (await http.get(PATH)).headers
    response = await http.get(PATH, headers={"If-Modified-Since": known["last-modified"]})
    assert (response.status_code, response.content) == (304, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": '"other"'},
        {"If-None-Match": ""},
        {"If-Modified-Since": formatdate(0, usegmt=True)},
        {"If-Modified-Since": "yesterday"},
        # The tag counts, the date beside it does not (RFC 9110).
        {"If-None-Match": '"other"', "If-Modified-Since": formatdate(4_000_000_000, usegmt=True)},
    ],
    ids=repr,
)
async def test_a_card_that_is_not_known_is_sent(
    http: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await http.get(PATH, headers=headers)).status_code == 200


async def test_a_304_does_not_claim_a_length_it_would_not_have(http: httpx2.AsyncClient) -> None:
    # RFC 9110, 8.6: the length of what a 200 would have sent, or none at all.
    full = await http.get(PATH)
    response = await http.get(PATH, headers={"If-None-Match": "*"})
    assert response.headers.get("content-length") in {None, full.headers["content-length"]}


async def test_a_head_request_gets_the_headers_alone(http: httpx2.AsyncClient) -> None:
    full, head = await http.get(PATH), await http.head(PATH)
    assert head.status_code == 200
    assert head.content == b""
    same = ("content-length", "content-type", "etag", "last-modified", "cache-control")
    assert [head.headers[name] for name in same] == [full.headers[name] for name in same]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_the_card_can_only_be_read(http: httpx2.AsyncClient, method: str) -> None:
    response = await http.request(method, PATH)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.3.1-3")
async def test_the_addresses_are_those_the_caller_used(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    async with httpx2.AsyncClient(base_url=f"http://localhost:{port}", trust_env=False) as client:
        assert await addresses(client) == [
            f"http://localhost:{port}/",
            f"http://localhost:{port}",
        ]


@pytest.mark.requirement("R-4.4.6-1")
async def test_a_public_url_is_written_as_it_is() -> None:
    application = app(public_url="https://agents.example.com/stage/")
    async with direct(application) as client:
        assert await addresses(client, X_Forwarded_Host="evil.example") == [
            "https://agents.example.com/stage/",
            "https://agents.example.com/stage",
        ]


@pytest.mark.requirement("R-4.4.6-1", "R-8.3.1-3")
@pytest.mark.parametrize(
    ("headers", "base"),
    [
        (
            {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "agents.example.com"},
            "https://agents.example.com",
        ),
        ({"X_Forwarded_Proto": "https"}, "https://127.0.0.1:8000"),
        (
            {"X_Forwarded_Host": "agents.example.com:8443", "X_Forwarded_Prefix": "/stage"},
            "http://agents.example.com:8443/stage",
        ),
        # Several proxies: the outermost is named first.
        (
            {"X_Forwarded_Proto": "https, http", "X_Forwarded_Host": "outer.example, inner"},
            "https://outer.example",
        ),
        ({"Forwarded": 'proto=https;host="agents.example.com"'}, "https://agents.example.com"),
        ({"Forwarded": "host=outer.example;proto=https, host=inner"}, "https://outer.example"),
        # The standard counts before the habit.
        ({"Forwarded": "host=a.example", "X_Forwarded_Host": "b.example"}, "http://a.example"),
    ],
)
async def test_a_trusted_proxy_is_believed(headers: dict[str, str], base: str) -> None:
    async with direct(app(allow_anonymous=True)) as client:
        assert await addresses(client, **headers) == [f"{base}/", base]


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "evil.example"},
        {"Forwarded": "proto=https;host=evil.example"},
        {"X_Forwarded_Prefix": "/evil"},
    ],
)
async def test_a_stranger_is_not_believed(headers: dict[str, str]) -> None:
    async with direct(app(allow_anonymous=True), client="203.0.113.5") as client:
        assert await addresses(client, **headers) == [
            "http://127.0.0.1:8000/",
            "http://127.0.0.1:8000",
        ]


async def test_which_proxies_are_trusted_can_be_set() -> None:
    application = app(allow_anonymous=True, trusted_proxies=["203.0.113.5"])
    async with direct(application, client="203.0.113.5") as client:
        assert (await addresses(client, X_Forwarded_Host="a.example"))[1] == "http://a.example"
    async with direct(application) as client:
        assert (await addresses(client, X_Forwarded_Host="a.example"))[1] == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    "host", ["evil.example/path", "a b", '"><script>', "user@evil.example", "x" * 3 + ":99999999"]
)
async def test_a_host_that_is_none_is_not_repeated(host: str) -> None:
    async with direct(app(allow_anonymous=True)) as client:
        urls = await addresses(client, Host=host)
        assert urls == ["http://127.0.0.1:8000/", "http://127.0.0.1:8000"]


@pytest.mark.requirement("R-T.mt-4", "R-8.3.1-3")
@pytest.mark.parametrize("path", ["/agents/one", ""], ids=["full path", "path without prefix"])
async def test_a_mounted_agent_has_its_own_card_under_its_prefix(path: str) -> None:
    # ASGI: root_path is the prefix; newer frameworks leave it in the path, older ones take it out.
    application = app()
    async with direct(application, root_path="/agents/one") as client:
        card = (await client.get(f"{path}{PATH}")).json()
        assert urls_of(card) == [
            "http://127.0.0.1:8000/agents/one/",
            "http://127.0.0.1:8000/agents/one",
        ]
        listed = await client.get(f"{path}/tasks", headers={"A2A-Version": "1.0"})
        assert listed.json()["totalSize"] == 0
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
        for endpoint in (f"{path}/", f"{path}/a2a"):
            assert (await client.post(endpoint, json=call)).json()["result"]["totalSize"] == 0
    await application.runtime.stop()


async def test_a_prefix_is_only_a_prefix_at_a_slash() -> None:
    application = app()
    async with direct(application, root_path="/task") as client:
        listed = await client.get("/tasks", headers={"A2A-Version": "1.0"})
    assert listed.status_code == 200
    await application.runtime.stop()


# --- slashes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", PATH),
        ("GET", "/tasks"),
        ("GET", "/tasks/t-1"),
        ("POST", "/tasks/t-1:cancel"),
        ("GET", "/tasks/t-1:subscribe"),
        ("POST", "/message:send"),
        ("GET", "/extendedAgentCard"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/a2a"),
        ("POST", "/api/a2a"),
        ("POST", ""),
    ],
)
async def test_a_slash_at_the_end_makes_no_difference(
    http: httpx2.AsyncClient, method: str, path: str
) -> None:
    plain, slashed = [
        await http.request(method, address, content=b"{}" if method == "POST" else None)
        for address in (path, f"{path}/")
    ]
    assert not plain.is_redirect
    assert not slashed.is_redirect
    assert slashed.status_code == plain.status_code
    assert slashed.content == plain.content


async def test_the_card_is_found_by_a_server_reached_by_another_name() -> None:
    # A caller on this machine may use any of its loopback names.
    async with serving(make_agent()) as served:
        port = served.url.rpartition(":")[2]
        async with httpx2.AsyncClient(trust_env=False) as client:
            response = await client.get(
                f"{served.url}{PATH}", headers={"Host": f"stage.localhost:{port}"}
            )
    assert response.json()["supportedInterfaces"][1]["url"] == f"http://stage.localhost:{port}"
