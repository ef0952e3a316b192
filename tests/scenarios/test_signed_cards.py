"""A served agent signs its card: per version, so that whoever reads it can verify it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dragoman import connect
from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import verify_card
from dragoman.client.errors import CardUntrustedError
from dragoman.errors import UsageError
from dragoman.server.assembly import build_app
from tests.scenarios.agents import make_agent
from tests.scenarios.guarding import KEY_HEADER, guarded_agent
from tests.support.auth.signing_cards import new_key
from tests.support.serving import AgentProcess, free_port

CARD: Final = "/.well-known/agent-card.json"
OLD_CARD: Final = "/.well-known/agent.json"
JWKS: Final = "/.well-known/jwks.json"
URL: Final = "https://agent.example"

AGENT: Final = '''
from dragoman import Agent

agent = Agent("Signed", "Has a name to lose.")

@agent.skill
async def echo(text: str) -> str:
    """Repeat a text."""
    return text
'''


def key_file(folder: Path, name: str) -> str:
    """Write a private key to a file, and return its path."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**new_key("ES256"), "kid": name}))
    return str(path)


def asking(*keys: str, agent: Any = None, **settings: object) -> httpx2.AsyncClient:
    """Return a client of an agent that signs with these keys."""
    given = {"store": "memory:", "public_url": URL, "card_key": list(keys), **settings}
    app = build_app(agent or make_agent(), given)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=URL)


async def verified(client: httpx2.AsyncClient, document: bytes) -> tuple[str, str, bool]:
    """Verify a card with the keys that the agent publishes."""
    keys = (await client.get(JWKS)).json()
    seen = await verify_card(document, TrustedKeys(keys))
    return seen.outcome, str(seen.form), seen.is_weak


# --- what is served -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_agent, guarded_agent])
async def test_the_card_of_1_0_is_signed_as_the_specification_has_it(
    tmp_path: Path, make: Any
) -> None:
    async with asking(key_file(tmp_path, "k1"), agent=make()) as client:
        # A version that nobody knows is as good as none.
        for headers in ({}, {"A2A-Version": "1.0"}, {"A2A-Version": "9.9"}):
            card = (await client.get(CARD, headers=headers)).content
            assert await verified(client, card) == ("verified", "canonical", False)
            # Nothing in it is of another version: who reads it another way reads no other card.
            assert not {"url", "protocolVersion", "preferredTransport"} & set(json.loads(card))


async def test_the_card_for_one_caller_is_signed_as_well(tmp_path: Path) -> None:
    async with asking(key_file(tmp_path, "k1"), agent=guarded_agent()) as client:
        headers = {"A2A-Version": "1.0", KEY_HEADER: "key-of-ada"}
        shown = await client.get("/extendedAgentCard", headers=headers)
        assert "cellar" in [skill["id"] for skill in shown.json()["skills"]]
        assert await verified(client, shown.content) == ("verified", "canonical", False)


async def test_the_card_of_0_3_is_signed_as_it_is(tmp_path: Path) -> None:
    async with asking(key_file(tmp_path, "k1")) as client:
        for path in (CARD, OLD_CARD):
            card = (await client.get(path, headers={"A2A-Version": "0.3"})).content
            assert json.loads(card)["protocolVersion"].startswith("0.3")
            assert await verified(client, card) == ("verified", "whole", False)


@pytest.mark.parametrize(
    ("path", "headers"),
    [(OLD_CARD, {}), (OLD_CARD, {"A2A-Version": "0.1"}), (CARD, {"A2A-Version": "0.2"})],
)
async def test_older_readers_get_a_card_they_know_which_has_no_signatures(
    tmp_path: Path, path: str, headers: dict[str, str]
) -> None:
    async with asking(key_file(tmp_path, "k1")) as client:
        card = (await client.get(path, headers=headers)).json()
        assert card["url"] == f"{URL}/"
        assert "signatures" not in card
        assert "supportedInterfaces" not in card


async def test_a_card_that_is_not_signed_is_one_for_all_as_ever() -> None:
    app = build_app(make_agent(), {"store": "memory:", "push_signing": "none"})
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        cards = [(await client.get(path)).json() for path in (CARD, OLD_CARD)]
        assert cards[0] == cards[1]
        assert {"url", "supportedInterfaces"} <= set(cards[0])
        assert (await client.get(JWKS)).status_code == 404


async def test_the_same_bytes_are_served_each_time(tmp_path: Path) -> None:
    # Signatures are made anew with another random number each: a cache must not see that.
    async with asking(key_file(tmp_path, "k1")) as client:
        first, second = await client.get(CARD), await client.get(CARD)
        assert first.content == second.content
        for number in range(100):
            await client.get(CARD, headers={"A2A-Version": f"7.{number}"})
        assert (await client.get(CARD)).content == first.content
        fresh = await client.get(CARD, headers={"If-None-Match": first.headers["etag"]})
        assert fresh.status_code == 304


async def test_no_request_chooses_the_address_that_is_signed(tmp_path: Path) -> None:
    async with asking(key_file(tmp_path, "k1"), allow_anonymous=True) as client:
        for headers in (
            {"Host": "evil.example"},
            {"X-Forwarded-Host": "evil.example"},
            {"Forwarded": "host=evil.example"},
        ):
            assert "evil.example" not in (await client.get(CARD, headers=headers)).text


def test_without_a_public_address_nothing_is_signed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="say it with --public-url"):
        asking(key_file(tmp_path, "k1"), public_url=None)


# --- the keys -----------------------------------------------------------------------------------


async def test_the_keys_are_public_and_may_be_cached_for_a_while(tmp_path: Path) -> None:
    async with asking(key_file(tmp_path, "k1"), agent=guarded_agent()) as client:
        answer = await client.get(JWKS)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=300"
        key, _ = answer.json()["keys"]
        assert (key["kid"], key["use"], "d" in key) == ("k1", "sig", False)
        assert (await client.head(JWKS)).content == b""
        assert (await client.post(JWKS)).status_code == 405


async def test_keys_can_change_while_cards_of_the_one_before_are_about(tmp_path: Path) -> None:
    old, new = key_file(tmp_path, "old"), key_file(tmp_path, "new")
    async with asking(old) as client:
        before = (await client.get(CARD)).content
    async with asking(new, old) as client:
        after = (await client.get(CARD)).content
        assert (await verified(client, before))[0] == "verified"
        assert (await verified(client, after))[0] == "verified"
    async with asking(new) as client:
        # Once the old key is gone, so is the trust in what it has signed.
        assert (await verified(client, before))[0] == "unverifiable"
        assert (await verified(client, after))[0] == "verified"


# --- who verifies it ----------------------------------------------------------------------------


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[AgentProcess]:
    """``dragoman serve`` with a key, on a real socket."""
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    port = free_port()
    arguments = ("--card-key", key_file(tmp_path, "k1"), "--store", "memory:")
    public = ("--public-url", f"http://127.0.0.1:{port}")
    with AgentProcess(path, *arguments, *public, port=port) as process:
        yield process


async def test_our_client_trusts_the_card_by_the_key_or_by_where_the_keys_are(
    signed: AgentProcess,
) -> None:
    keys = httpx2.get(f"{signed.url}{JWKS}").json()
    for trust in (TrustedKeys(keys), TrustedKeys(jku=[signed.url])):
        async with connect(signed.url, trust=trust) as agent:
            assert (await agent.send("hello")).text == "hello"


async def test_our_client_calls_no_agent_that_others_have_signed(signed: AgentProcess) -> None:
    other = {**new_key("ES256"), "kid": "k1"}
    other.pop("d")
    for trust in (TrustedKeys({"keys": [other]}), TrustedKeys(jku=["https://elsewhere.example"])):
        with pytest.raises(CardUntrustedError):
            async with connect(signed.url, trust=trust):
                pass
