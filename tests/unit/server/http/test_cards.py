import pytest

from tests.support.server.in_process import calling

CARD_PATH = "/.well-known/agent-card.json"

# --- the card ---------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.1-1", "R-8.2-1")
async def test_the_card_is_where_everybody_looks_for_it() -> None:
    async with calling() as client:
        response = await client.request("GET", CARD_PATH, a2a_version="")
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert response.json["supportedInterfaces"][0]["url"] == "http://localhost:8000/"
    assert response.headers["cache-control"] == "public, max-age=3600"


async def test_a_card_that_the_client_has_is_not_sent_again() -> None:
    async with calling() as client:
        first = await client.request("GET", CARD_PATH)
        second = await client.request("GET", CARD_PATH, if_none_match=first.headers["etag"])
    assert (second.status, second.body) == (304, b"")
    assert second.headers["etag"] == first.headers["etag"]


async def test_head_is_get_without_the_body() -> None:
    async with calling() as client:
        get = await client.request("GET", CARD_PATH)
        head = await client.request("HEAD", CARD_PATH)
    assert (head.headers, head.body) == (get.headers, b"")


async def test_a_card_takes_no_post() -> None:
    async with calling() as client:
        response = await client.request("POST", CARD_PATH)
    assert (response.status, response.headers["allow"]) == (405, "GET, HEAD")


async def test_a_card_is_not_for_strangers_while_the_door_is_closed() -> None:
    async with calling() as client:
        response = await client.request("GET", CARD_PATH, peer="203.0.113.7")
        assert response.status == 403


@pytest.mark.parametrize(
    ("version", "member"), [("1.0", "supportedInterfaces"), ("0.3", "protocolVersion")]
)
async def test_a_version_gets_the_card_as_it_has_it(version: str, member: str) -> None:
    async with calling() as client:
        merged = await client.request("GET", CARD_PATH, a2a_version="")
        own = await client.request("GET", CARD_PATH, a2a_version=version)
    assert member in own.json
    assert {"supportedInterfaces", "protocolVersion"} <= set(merged.json)
    assert set(own.json) < set(merged.json)
    assert own.headers["etag"] != merged.headers["etag"]
    assert "a2a-version" in own.headers["vary"]


async def test_old_clients_find_the_same_card_where_they_look() -> None:
    async with calling() as client:
        new = await client.request("GET", CARD_PATH, a2a_version="")
        old = await client.request("GET", "/.well-known/agent.json", a2a_version="")
    assert old.body == new.body


# --- the extended card of 0.2 -----------------------------------------------------------------

OLD_PATHS = ["/agent/authenticatedExtendedCard", "/api/agent/authenticatedExtendedCard"]


@pytest.mark.parametrize("path", OLD_PATHS)
async def test_a_card_that_is_not_there_is_not_found(path: str) -> None:
    async with calling() as client:
        response = await client.request("GET", path, a2a_version="")
        posted = await client.request("POST", path, a2a_version="")
    assert (response.status, response.json["type"]) == (404, "UnsupportedOperationError")
    assert (posted.status, posted.headers["allow"]) == (405, "GET, HEAD")


async def test_strangers_hear_nothing_of_it_while_the_door_is_closed() -> None:
    async with calling() as client:
        response = await client.request("GET", OLD_PATHS[0], peer="203.0.113.7", a2a_version="")
    assert response.status == 403
