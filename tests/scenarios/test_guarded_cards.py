"""What an agent with a guard says of itself: to everybody, and to each caller."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest

from dragoman import connect
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.combining import AllOf
from dragoman.auth.incoming.passwords import hash_password
from dragoman.auth.outgoing.credentials import ApiKey
from dragoman.client.discovery.card_cache import CardCache
from dragoman.dialects.v0_1.card import decode_card as decode_card_0_1
from dragoman.dialects.v0_3.card import decode_card as decode_card_0_3
from dragoman.dialects.v1_0.card import decode_card as decode_card_1_0
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.cards import AgentCard
from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Grpc, HttpJson, JsonRpc, expect
from tests.scenarios.grpc_binding import V0_3_SERVICE, Rpcs
from tests.scenarios.guarding import KEY_HEADER, PEOPLE, Keys, guarded_agent
from tests.support.serving import Served, serving
from tests.support.wire import Json

CARD = "/.well-known/agent-card.json"


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent that takes one key, or another key together with a password."""
    one = Keys()
    other = ApiKeys({"x": "x"}, parameter="X-Other", name="other")
    both = AllOf(other, BasicUsers({"u": hash_password("p")}))
    async with serving(guarded_agent(auth=[one, both])) as agent:
        yield agent


async def public_card(served: Served, version: str) -> bytes:
    async with HttpJson(served.url, {"A2A-Version": version} if version else {}) as anybody:
        response = await anybody.http.get(CARD)
    assert response.status_code == 200
    return response.content


# --- the public card ----------------------------------------------------------------------------


@pytest.mark.requirement("R-7.3-1", "R-13.3-2")
async def test_the_card_of_1_0_says_what_to_show(served: Served) -> None:
    card: Json = json.loads(await public_card(served, "1.0"))
    assert card["securitySchemes"]["key"] == {
        "apiKeySecurityScheme": {"location": "header", "name": KEY_HEADER}
    }
    assert card["securityRequirements"] == [
        {"schemes": {"key": {}}},
        {"schemes": {"other": {}, "basic": {}}},
    ]


async def test_the_card_of_0_3_says_it_in_the_words_of_openapi(served: Served) -> None:
    card: Json = json.loads(await public_card(served, "0.3"))
    assert card["securitySchemes"]["key"] == {"type": "apiKey", "in": "header", "name": KEY_HEADER}
    assert card["securitySchemes"]["basic"]["type"] == "http"
    assert card["security"] == [{"key": []}, {"other": [], "basic": []}]


async def test_the_card_of_0_1_names_the_schemes(served: Served) -> None:
    card: Json = json.loads(await public_card(served, "0.1"))
    assert card["authentication"]["schemes"] == ["ApiKey", "Basic"]
    assert json.loads(card["authentication"]["credentials"]) == {"in": "header", "name": KEY_HEADER}


@pytest.mark.parametrize(
    "decode", [decode_card_1_0, decode_card_0_3, decode_card_0_1], ids=["1.0", "0.3", "0.1"]
)
async def test_the_card_for_all_readers_says_it_to_each(
    served: Served, decode: Callable[[bytes], AgentCard]
) -> None:
    card = decode(await public_card(served, ""))
    wanted = {name for each in card.security_requirements for name in each.schemes}
    assert wanted
    assert wanted <= set(card.security_schemes)


@pytest.mark.parametrize(
    ("version", "member"), [("1.0", "securityRequirements"), ("0.3", "security")]
)
async def test_a_skill_says_which_scopes_it_needs(
    served: Served, version: str, member: str
) -> None:
    card: Json = json.loads(await public_card(served, version))
    needed: dict[str, Any] = {skill["id"]: skill.get(member) for skill in card["skills"]}
    assert needed["ask"] is None
    assert json.dumps(needed["vault"][0]).count("vault:open") == 1
    assert len(needed["vault"]) == 2


async def test_an_agent_that_asks_nobody_says_nothing_of_it() -> None:
    async with serving(make_agent()) as plain:
        for version in ("", "1.0", "0.3", "0.1"):
            card: Json = json.loads(await public_card(plain, version))
            assert not {"securitySchemes", "security", "authentication"} & set(card)


# --- the extended card --------------------------------------------------------------------------


async def extended(served: Served, key: str, version: str) -> tuple[Json, Json]:
    """Return the extended card of a version, and the headers it came with."""
    headers = {KEY_HEADER: key}
    if version == "0.3 gRPC":
        async with Rpcs(served.url, V0_3_SERVICE) as rpcs:
            answer = await rpcs.unary("GetAgentCard", {}, [(KEY_HEADER.lower(), key)])
            return answer.value, dict(answer.headers)
    async with (
        JsonRpc(served.url, headers) as rpc,
        HttpJson(served.url, {**headers, "A2A-Version": "1.0"}) as rest,
        Grpc(served.url, {**headers, "A2A-Version": "1.0"}) as grpc,
    ):
        match version:
            case "1.0":
                response = await rpc.respond("GetExtendedAgentCard")
                return response.json()["result"], dict(response.headers)
            case "1.0 HTTP":
                response = await rest.respond("GetExtendedAgentCard")
            case "1.0 gRPC":
                response = await grpc.respond("GetExtendedAgentCard")
            case "0.3":
                response = await rpc.respond("agent/getAuthenticatedExtendedCard")
                return response.json()["result"], dict(response.headers)
            case "0.3 HTTP":
                response = await rest.http.get("/v1/card", headers={"A2A-Version": "0.3"})
            case _:
                response = await rest.http.get(
                    "/agent/authenticatedExtendedCard", headers={"A2A-Version": "0.2"}
                )
        return response.json(), dict(response.headers)


FORMS = ("1.0", "1.0 HTTP", "1.0 gRPC", "0.3", "0.3 HTTP", "0.3 gRPC", "0.2")


@pytest.mark.requirement("R-3.1.11-4", "R-13.3-3", "R-13.3-5", "R-13.3-10")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("key", "skills"),
    [
        ("key-of-ada", ["ask", "whoami", "vault", "sign_in", "cellar"]),
        ("key-of-bob", ["ask", "whoami", "sign_in"]),
    ],
)
async def test_the_extended_card_shows_what_this_caller_may_use(
    served: Served, form: str, key: str, skills: list[str]
) -> None:
    card, _ = await extended(served, key, form)
    assert [skill["id"] for skill in card["skills"]] == skills
    # What a hidden skill takes is as hidden as the skill.
    assert ("bottles" in json.dumps(card)) is ("cellar" in skills)


@pytest.mark.requirement("R-13.3-4")
@pytest.mark.parametrize("form", FORMS)
async def test_the_extended_card_is_for_one_caller_alone(served: Served, form: str) -> None:
    _, headers = await extended(served, "key-of-ada", form)
    assert headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("form", FORMS)
async def test_its_addresses_are_those_the_caller_has_used(served: Served, form: str) -> None:
    card, _ = await extended(served, "key-of-ada", form)
    urls = [item["url"] for item in card.get("supportedInterfaces", [])] or [card["url"]]
    address = served.url.removeprefix("http://")
    assert all(address in url for url in urls), urls


async def test_tenants_one_may_not_use_are_not_listed(served: Served) -> None:
    async with HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: "key-of-dan"}) as dan:
        await expect("InvalidParamsError", dan.call("GetExtendedAgentCard"))
        card = await dan.call("GetExtendedAgentCard", {"tenant": "acme"})
    tenants = {item.get("tenant") for item in card["supportedInterfaces"]}
    assert tenants == {"acme"}
    assert PEOPLE["key-of-dan"].tenants == tenants


@pytest.mark.requirement("R-13.3-1", "R-14.3-8")
async def test_nobody_gets_it_without_saying_who_they_are(served: Served) -> None:
    async with HttpJson(served.url) as stranger:
        for path in ("/extendedAgentCard", "/v1/card", "/agent/authenticatedExtendedCard"):
            response = await stranger.http.get(path)
            assert response.status_code == 401
            challenges = response.headers.get_list("www-authenticate")
            assert [text.split()[0] for text in challenges] == ["ApiKey", "ApiKey", "Basic"]


# --- a card that is not for everybody -----------------------------------------------------------


@pytest.fixture(scope="module")
async def private() -> AsyncIterator[Served]:
    agent = guarded_agent(auth=[Keys()])
    async with serving(
        agent, private_card=True, path="/bank", rate_limit_refusals="100000/min"
    ) as place:
        yield place


DOORS = (CARD, "/.well-known/agent.json", f"/bank{CARD}", "/bank/.well-known/agent.json")
EXTENDED_DOORS = ("/bank/extendedAgentCard", "/bank/v1/card", "/agent/authenticatedExtendedCard")


@pytest.mark.parametrize("door", [*DOORS, *EXTENDED_DOORS])
@pytest.mark.parametrize("version", ["", "1.0", "0.3", "0.2", "0.1"])
@pytest.mark.parametrize("key", ["", "key-of-nobody"])
async def test_a_private_card_is_shown_to_nobody_unknown(
    private: Served, door: str, version: str, key: str
) -> None:
    headers = {name: text for name, text in (("A2A-Version", version), (KEY_HEADER, key)) if text}
    async with HttpJson(private.url) as wire:
        for verb in ("GET", "HEAD"):
            asked = await wire.http.request(verb, door, headers={**headers, "If-None-Match": "*"})
            # Where a door belongs to one version, it may refuse the others first.
            assert asked.status_code in ((401,) if door in DOORS else (401, 404, 405))
            assert "whoami" not in asked.text
            if asked.status_code == 401:
                assert asked.headers["www-authenticate"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_private_card_is_shown_to_who_is_known_and_kept_by_nobody_else(
    private: Served, door: str
) -> None:
    async with HttpJson(private.url) as wire:
        found = await wire.http.get(door, headers={KEY_HEADER: "key-of-bob"})
    assert found.status_code == 200
    assert "whoami" in found.text
    assert found.headers["cache-control"].startswith("private, ")


async def test_over_grpc_there_is_no_way_around(private: Served) -> None:
    async with Rpcs(private.url) as client:
        call = client.channel.unary_unary(f"/{V0_3_SERVICE}/GetAgentCard")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(b"")
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_the_client_shows_its_key_for_a_private_card(private: Served) -> None:
    key = ApiKey("key-of-ada", name=KEY_HEADER)
    async with connect(private.url, auth=key, card_auth=True, cards=CardCache()) as agent:
        assert "ada" in str((await agent.send("hello", skill="whoami")).data)
    with pytest.raises(UnauthenticatedError):
        async with connect(private.url, auth=key, cards=CardCache()):
            pass


async def test_a_card_that_nobody_could_be_shown_is_refused() -> None:
    with pytest.raises(UsageError, match="private_card: agent 'Stage' has no authenticator"):
        async with serving(make_agent(), private_card=True):
            pass
