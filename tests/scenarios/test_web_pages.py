"""Web pages: which may call, and what browsers are told with every answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import httpx2
import pytest

from dragoman.errors import UsageError
from dragoman.server.assembly import build_app
from tests.scenarios.agents import make_agent, to
from tests.scenarios.guarding import KEY_HEADER, guarded_agent
from tests.support.serving import serving

APP: Final = "https://app.example"
CARD: Final = "/.well-known/agent-card.json"
CALL: Final = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
PREFLIGHT: Final = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "a2a-version,content-type,x-api-key",
}


async def client_of(agent: object, *origins: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        serving(agent, cors_origins=list(origins)) as served,  # type: ignore[arg-type] - an agent
        httpx2.AsyncClient(base_url=served.url, headers={"A2A-Version": "1.0"}) as client,
    ):
        yield client


@pytest.fixture
async def pages() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an agent that one page may call, and that asks who calls."""
    async for client in client_of(guarded_agent(), APP):
        yield client


@pytest.fixture
async def public() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an agent that every page may call."""
    async for client in client_of(make_agent(), "*"):
        yield client


async def test_a_page_asks_first_and_needs_no_credentials_for_that(
    pages: httpx2.AsyncClient,
) -> None:
    for path in ("/", "/message:send", "/tasks", "/v1/message:send", CARD):
        answer = await pages.options(path, headers={"Origin": APP, **PREFLIGHT})
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert (
            answer.headers["access-control-allow-headers"] == "a2a-version,content-type,x-api-key"
        )
        assert "POST" in answer.headers["access-control-allow-methods"]


async def test_a_page_on_the_list_is_served_and_may_read_the_answer(
    pages: httpx2.AsyncClient,
) -> None:
    headers = {"Origin": APP, KEY_HEADER: "key-of-ada"}
    for answer in (
        await pages.post("/", json=CALL, headers=headers),
        await pages.get("/tasks", headers=headers),
        await pages.get(CARD, headers=headers),
        # Refusals as well: the page must be able to tell what is wrong.
        await pages.get("/tasks", headers={"Origin": APP}),
        await pages.get("/tasks/none", headers=headers),
    ):
        assert answer.headers["access-control-allow-origin"] == APP
        assert "origin" in answer.headers["vary"]


async def test_a_stream_may_be_read_too(public: httpx2.AsyncClient) -> None:
    answer = await public.post(
        "/message:stream", json={"message": to("echo")}, headers={"Origin": APP}
    )
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"{APP}.evil.example"])
async def test_other_pages_are_neither_answered_nor_served(
    pages: httpx2.AsyncClient, origin: str
) -> None:
    asked = await pages.options("/", headers={"Origin": origin, **PREFLIGHT})
    assert "access-control-allow-origin" not in asked.headers
    assert "access-control-allow-methods" not in asked.headers
    headers = {"Origin": origin, KEY_HEADER: "key-of-ada"}
    served = await pages.get("/tasks", headers=headers)
    assert served.status_code == 403
    assert "access-control-allow-origin" not in served.headers


async def test_every_page_may_read_what_is_public_without_credentials(
    public: httpx2.AsyncClient,
) -> None:
    answer = await public.get("/tasks", headers={"Origin": "https://anybody.example"})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


def test_an_agent_that_asks_who_calls_has_to_name_its_pages() -> None:
    with pytest.raises(UsageError, match=r"has to name the pages instead of \*"):
        build_app(guarded_agent(), {"store": "memory:", "cors_origins": ["*"]})


async def test_without_a_list_nothing_is_said_to_pages() -> None:
    async for client in client_of(make_agent()):
        answer = await client.get("/tasks", headers={"Origin": "http://localhost:3000"})
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]
        asked = {"Origin": "http://localhost:3000", **PREFLIGHT}
        assert (await client.options("/", headers=asked)).status_code == 405


async def test_browsers_are_told_to_do_no_more_with_an_answer_than_was_meant(
    public: httpx2.AsyncClient,
) -> None:
    for answer in (
        await public.get(CARD),
        await public.get("/tasks"),
        await public.get("/tasks/none"),
        await public.get("/nowhere/at/all"),
        await public.get("/healthz"),
        await public.post("/", json=CALL),
        await public.post("/", content=b"nonsense"),
        await public.post("/message:stream", json={"message": to("echo")}),
        await public.options("/", headers={"Origin": APP, **PREFLIGHT}),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
