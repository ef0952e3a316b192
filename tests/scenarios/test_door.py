"""The door: without an authenticator only callers on this machine are served, and no web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest

from dragoman.server.assembly import build_app
from tests.scenarios.agents import make_agent
from tests.support.wire import Json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dragoman.server.app import App

CARD = "/.well-known/agent-card.json"
STRANGER = "203.0.113.5"


@pytest.fixture
async def app() -> AsyncIterator[App]:
    """The agent as an application nobody authenticates to."""
    app = build_app(make_agent(), {"store": "memory:"})
    yield app
    await app.runtime.stop()


@pytest.fixture
async def open_app() -> AsyncIterator[App]:
    """The agent as an application that was opened to everybody."""
    app = build_app(make_agent(), {"store": "memory:", "allow_anonymous": True})
    yield app
    await app.runtime.stop()


def calling(app: App, peer: str = "127.0.0.1") -> httpx2.AsyncClient:
    """Return a client that reaches the application from this address."""
    transport = httpx2.ASGITransport(app, client=(peer, 40000))
    return httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers={"A2A-Version": "1.0"}
    )


async def statuses(client: httpx2.AsyncClient, **headers: str) -> set[int]:
    """Return how the three doors of a server answer: the card, JSON-RPC, HTTP+JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    call: Json = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
    return {
        (await client.get(CARD, headers=named)).status_code,
        (await client.post("/", json=call, headers=named)).status_code,
        (await client.get("/tasks", headers=named)).status_code,
    }


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
async def test_callers_on_this_machine_are_served(app: App, peer: str) -> None:
    async with calling(app, peer) as client:
        assert await statuses(client) == {200}


@pytest.mark.parametrize(
    "peer", [STRANGER, "10.0.0.7", "192.168.1.2", "2001:db8::1", "::ffff:203.0.113.5"]
)
async def test_callers_on_other_machines_are_not(app: App, peer: str) -> None:
    async with calling(app, peer) as client:
        assert await statuses(client) == {403}


async def test_the_refusal_says_what_to_do_in_the_words_of_each_binding(app: App) -> None:
    async with calling(app, STRANGER) as client:
        over_http = (await client.get("/tasks")).json()["error"]
        over_rpc = (
            await client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})
        ).json()
    assert over_http["code"] == 403
    assert over_http["status"] == "PERMISSION_DENIED"
    assert over_http["details"][0]["reason"] == "PERMISSION_DENIED"
    assert over_http["message"].endswith("start it with --allow-anonymous to open it")
    # Nothing was read of the request, so its id is not known.
    assert over_rpc["id"] is None
    assert over_rpc["error"]["code"] == -31403
    assert over_rpc["error"]["message"] == over_http["message"]


async def test_nothing_of_a_refused_request_is_done(app: App) -> None:
    async with calling(app, STRANGER) as client:
        sent = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        assert (await client.post("/message:send", json={"message": sent})).status_code == 403
    async with calling(app) as client:
        assert (await client.get("/tasks")).json()["totalSize"] == 0


async def test_an_opened_agent_serves_everybody(open_app: App) -> None:
    async with calling(open_app, STRANGER) as client:
        assert await statuses(client) == {200}
        assert await statuses(client, Origin="https://site.example", Host="agent.example") == {200}


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://evil.example:8000",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        # Sandboxed frames and files of any site.
        "null",
        "",
        "http://[",
        "http://]",
        "file://",
        "chrome-extension://abc",
        "http://user@evil.example",
        "nonsense",
    ],
)
async def test_pages_of_other_sites_are_not_served(app: App, origin: str) -> None:
    async with calling(app) as client:
        assert await statuses(client, Origin=origin) == {403}


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "http://127.0.0.1:8000", "http://[::1]:5000"]
)
async def test_pages_of_this_machine_are_served(app: App, origin: str) -> None:
    async with calling(app) as client:
        assert await statuses(client, Origin=origin) == {200}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[", "0.0.0.0:8000"]
)
async def test_a_foreign_name_made_to_point_here_is_not_served(app: App, host: str) -> None:
    # DNS rebinding: the browser believes it talks to evil.example.
    async with calling(app) as client:
        assert await statuses(client, Host=host) == {403}


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "agent.localhost", "[::1]:8000"])
async def test_the_names_of_this_machine_are_served(app: App, host: str) -> None:
    async with calling(app) as client:
        assert await statuses(client, Host=host) == {200}


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_For": STRANGER},
        {"X_Forwarded_For": f"127.0.0.1, {STRANGER}"},
        {"X_Forwarded_For": f"{STRANGER}, 127.0.0.1"},
        {"X_Forwarded_For": "unknown"},
        {"Forwarded": f"for={STRANGER}"},
        {"Forwarded": f'for="{STRANGER}:80";proto=https'},
        {"Forwarded": 'for=127.0.0.1, for="[2001:db8::1]:80"'},
        {"Forwarded": "for=_hidden"},
    ],
    ids=repr,
)
async def test_a_proxy_on_this_machine_does_not_make_its_callers_local(
    app: App, headers: dict[str, str]
) -> None:
    async with calling(app) as client:
        assert await statuses(client, **headers) == {403}


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_For": "127.0.0.1"},
        {"X_Forwarded_For": "::1, 127.0.0.1"},
        {"Forwarded": 'for="[::1]:4711";proto=http'},
    ],
    ids=repr,
)
async def test_a_local_caller_may_come_through_a_local_proxy(
    app: App, headers: dict[str, str]
) -> None:
    async with calling(app) as client:
        assert await statuses(client, **headers) == {200}


async def test_the_public_name_of_the_agent_is_its_own() -> None:
    app = build_app(make_agent(), {"store": "memory:", "public_url": "https://agent.example.com/"})
    async with calling(app) as client:
        assert await statuses(client, Host="agent.example.com") == {200}
        assert await statuses(client, Origin="https://agent.example.com") == {200}
        assert await statuses(client, Origin="https://agent.example.com.evil.example") == {403}
    await app.runtime.stop()


async def test_the_state_of_health_is_told_to_everybody(app: App) -> None:
    async with calling(app, STRANGER) as client:
        assert (await client.get("/healthz")).status_code == 200
