"""The application as an ASGI server sees it, without one."""

from pathlib import Path

import pytest

from dragoman import Agent
from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of
from dragoman.errors import UsageError
from dragoman.server.app import App
from dragoman.server.assembly import build_app
from dragoman.server.settings import Settings
from dragoman.stores.memory.store import MemoryTaskStore
from tests.support.server.in_process import SEND, Client, Event, calling, echo_agent

# --- building ---------------------------------------------------------------------------------


def test_an_agent_without_skills_is_no_application() -> None:
    with pytest.raises(UsageError, match="has no skills"):
        build_app(Agent("Mute"), {"store": "memory:"})


def test_a_wrong_setting_is_told() -> None:
    with pytest.raises(UsageError, match="--max-parts"):
        build_app(echo_agent(), {"max_parts": 0})


async def test_settings_and_a_store_may_be_given_ready_made() -> None:
    app = build_app(echo_agent(), Settings(max_parts=1), store=MemoryTaskStore())
    parts = {"message": {**SEND["message"], "parts": [{"text": "a"}, {"text": "b"}]}}
    response = await Client(app).rpc("SendMessage", parts)
    assert response.json["error"]["code"] == -32602
    await app.runtime.stop()


# --- health -----------------------------------------------------------------------------------


async def test_health_is_that_of_the_process_and_readiness_that_of_the_service() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    client = Client(app)
    assert (await client.request("GET", "/healthz")).status == 200
    assert (await client.request("GET", "/readyz")).status == 503
    await app.runtime.start()
    assert (await client.request("GET", "/readyz")).json == {"status": "ok"}
    assert (await client.request("HEAD", "/readyz")).body == b""
    assert (await client.request("POST", "/readyz")).status == 405
    await app.runtime.stop()


# --- the rest of ASGI -------------------------------------------------------------------------


async def lifespan(app: App, *events: str) -> list[Event]:
    incoming = [{"type": f"lifespan.{event}"} for event in events]
    sent: list[Event] = []

    async def receive() -> Event:
        return incoming.pop(0)

    async def send(event: Event) -> None:
        sent.append(event)

    try:
        await app({"type": "lifespan"}, receive, send)
    except UsageError as error:
        sent.append({"type": "raised", "message": str(error)})
    return sent


async def test_the_server_starts_and_stops_the_application() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    sent = await lifespan(app, "startup", "shutdown")
    assert [event["type"] for event in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert not app.runtime.is_ready


async def test_what_the_server_says_beside_that_is_passed_over() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    sent = await lifespan(app, "novelty", "shutdown")
    assert [event["type"] for event in sent] == ["lifespan.shutdown.complete"]


async def test_a_start_that_fails_is_reported_with_the_reason(tmp_path: Path) -> None:
    app = build_app(echo_agent(), {"store": f"sqlite:///{tmp_path / 'missing' / 'tasks.db'}"})
    failed, raised = await lifespan(app, "startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert "missing" in failed["message"]
    assert raised["type"] == "raised"


async def test_web_sockets_are_refused() -> None:
    sent: list[Event] = []

    async def receive() -> Event:
        raise AssertionError

    async def send(event: Event) -> None:
        sent.append(event)

    app = build_app(echo_agent(), {"store": "memory:"})
    await app({"type": "websocket"}, receive, send)
    await app({"type": "novelty"}, receive, send)
    assert [(event["type"], event["code"]) for event in sent] == [("websocket.close", 1003)]


@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_who_leaves_before_the_request_is_read_gets_no_answer(path: str) -> None:
    sent: list[Event] = []

    async def receive() -> Event:
        return {"type": "http.disconnect"}

    async def send(event: Event) -> None:
        sent.append(event)

    async with calling() as client:
        scope: Event = {"type": "http", "method": "POST", "path": path, "headers": []}
        await client.app(scope, receive, send)
    assert sent == []


# --- who may call -------------------------------------------------------------------------------


def write_keys(folder: Path, key: str) -> Path:
    path = folder / "keys.json"
    record = KeyRecord(
        id="k-1", owner="ada", hash=digest_of(key), created="2026-01-01T00:00:00.000Z"
    )
    change_keys(path, lambda _: (record,))
    return path


async def test_a_file_of_keys_closes_an_agent_that_asks_for_nothing(tmp_path: Path) -> None:
    keys = write_keys(tmp_path, "a-long-random-key")
    async with calling(echo_agent(), api_keys=str(keys)) as client:
        refused = await client.request("GET", "/tasks", peer="203.0.113.7")
        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith("ApiKey ")
        found = await client.request(
            "GET", "/tasks", peer="203.0.113.7", x_api_key="a-long-random-key"
        )
        assert found.status == 200
        card = await client.request("GET", "/.well-known/agent-card.json", peer="203.0.113.7")
        assert list(card.json["securitySchemes"]) == ["apiKey"]


def test_scopes_that_nobody_could_have_are_a_mistake() -> None:
    agent = echo_agent()

    @agent.skill(scopes=["pay"])
    async def transfer(text: str) -> str:
        return text

    with pytest.raises(UsageError, match="skill transfer needs scopes"):
        build_app(agent, {"store": "memory:"})


async def test_that_callers_are_known_cannot_be_switched_off_by_a_setting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = write_keys(tmp_path, "a-long-random-key")
    async with calling(echo_agent(), api_keys=str(keys), allow_anonymous=True) as client:
        assert (await client.request("GET", "/tasks")).status == 401
    assert "allow_anonymous has no effect: this agent has authenticators" in caplog.messages
