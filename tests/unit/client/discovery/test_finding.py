import json
from pathlib import Path

import httpx2
import pytest

from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.finding import MAX_CARD_BYTES, FoundCard, find_card
from dragoman.client.errors import CardInvalidError, CardNotFoundError, ProtocolError
from dragoman.errors import UnauthenticatedError, UnavailableError
from tests.support.client.fakes import QuickClock, Web, web_pool

NEW = "/.well-known/agent-card.json"
OLD = "/.well-known/agent.json"
CARD: dict[str, object] = {
    "name": "A",
    "protocolVersion": "0.3.0",
    "url": "/rpc",
    "version": "1",
    "capabilities": {},
    "skills": [],
}
BODY = json.dumps(CARD).encode()


class Places(Web):
    """A host that has something at some places, and nothing elsewhere."""

    def __init__(self, **places: httpx2.Response) -> None:
        self._places = places
        super().__init__(lambda request: places.get(request.url.path, httpx2.Response(404)))

    @property
    def visited(self) -> list[str]:
        return [request.url.path for request in self.requests]


def here(**headers: str) -> httpx2.Response:
    return httpx2.Response(200, headers=headers, content=BODY)


async def find(
    web: Web,
    address: str | Path = "https://a.example",
    cache: CardCache | None = None,
    clock: QuickClock | None = None,
) -> FoundCard:
    return await find_card(
        address,
        pool=web_pool(web),
        cache=cache or CardCache(),
        clock=clock or QuickClock(),
        headers={"X-Team": "blue"},
    )


async def test_the_card_is_at_the_well_known_place() -> None:
    web = Places(**{NEW: here()})
    found = await find(web)
    assert found.reading.card.name == "A"
    assert found.url == f"https://a.example{NEW}"
    assert web.last.headers["x-team"] == "blue"


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(404),
        httpx2.Response(405),
        httpx2.Response(401),
        httpx2.Response(200, content=b"<html>"),
        httpx2.Response(200, content=b'{"name": "no agent"}'),
    ],
)
async def test_the_older_place_is_looked_at_next(answer: httpx2.Response) -> None:
    web = Places(**{NEW: answer, OLD: here()})
    assert (await find(web)).url == f"https://a.example{OLD}"


async def test_below_a_path_the_path_comes_first() -> None:
    web = Places(**{OLD: here()})
    await find(web, "https://a.example/agents/x/")
    assert web.visited == ["/agents/x/", f"/agents/x{NEW}", f"/agents/x{OLD}", NEW, OLD]


async def test_a_url_may_be_the_card_itself() -> None:
    web = Places(**{"/cards/x.json": here()})
    found = await find(web, "https://a.example/cards/x.json")
    assert found.url == "https://a.example/cards/x.json"


async def test_where_there_is_none_all_places_are_named() -> None:
    with pytest.raises(CardNotFoundError) as caught:
        await find(Places(**{NEW: httpx2.Response(200, content=b"<html>")}))
    assert caught.value.findings == (
        (f"https://a.example{NEW}", "something that is no card"),
        (f"https://a.example{OLD}", "HTTP status 404"),
    )


async def test_a_card_that_cannot_be_used_is_no_reason_to_look_on() -> None:
    broken = json.dumps({**CARD, "skills": 1}).encode()
    web = Places(**{NEW: httpx2.Response(200, content=broken), OLD: here()})
    with pytest.raises(CardInvalidError, match="skills"):
        await find(web)


async def test_a_card_that_is_locked_or_a_host_that_is_down_is_told() -> None:
    locked = httpx2.Response(401, headers={"www-authenticate": "Bearer"})
    with pytest.raises(UnauthenticatedError):
        await find(Places(**{NEW: locked, OLD: here()}))
    with pytest.raises(UnavailableError):
        await find(Places(**{NEW: httpx2.Response(503), OLD: here()}))


async def test_the_card_of_an_agent_that_is_locked_is_looked_for_below_it_alone() -> None:
    locked = httpx2.Response(401, headers={"www-authenticate": "Bearer"})
    below = Places(**{"/x": locked, f"/x{NEW}": here()})
    assert (await find(below, "http://agent.test/x")).url == f"http://agent.test/x{NEW}"
    # At the root there may be the card of another agent.
    with pytest.raises(UnauthenticatedError):
        await find(Places(**{"/x": locked, NEW: here()}), "http://agent.test/x")


async def test_a_card_may_not_be_endless() -> None:
    large = httpx2.Response(200, content=b" " * (MAX_CARD_BYTES + 1))
    with pytest.raises(ProtocolError, match="more than"):
        await find(Places(**{NEW: large}))


# --- redirects ----------------------------------------------------------------------------------


def moved(to: str) -> httpx2.Response:
    return httpx2.Response(307, headers={"location": to})


async def test_a_redirect_within_the_origin_is_followed() -> None:
    web = Places(**{NEW: moved("/card"), "/card": here()})
    assert (await find(web)).url == "https://a.example/card"


@pytest.mark.parametrize(
    "target", ["https://b.example/card", "http://a.example/card", "https://a.example:8443/card", ""]
)
async def test_a_redirect_to_another_origin_is_not(target: str) -> None:
    web = Places(**{NEW: moved(target)})
    with pytest.raises(ProtocolError, match="it redirects to"):
        await find(web)
    assert len(web.requests) == 1


async def test_redirects_come_to_an_end() -> None:
    with pytest.raises(ProtocolError, match="more than 5 times"):
        await find(Places(**{NEW: moved(NEW)}))


# --- keeping ------------------------------------------------------------------------------------


async def test_a_fresh_card_is_not_asked_for_again() -> None:
    web, cache, clock = (
        Places(**{NEW: here(**{"cache-control": "max-age=60"})}),
        CardCache(),
        QuickClock(),
    )
    for _ in range(2):
        await find(web, cache=cache, clock=clock)
    assert len(web.requests) == 1
    clock.advance(60)
    await find(web, cache=cache, clock=clock)
    assert len(web.requests) == 2


async def test_a_stale_card_is_asked_about() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.headers.get("if-none-match") == '"x"':
            return httpx2.Response(304, headers={"etag": '"x"'})
        return here(etag='"x"')

    web, cache = Web(answer), CardCache()
    for _ in range(3):
        assert (await find(web, cache=cache)).reading.card.name == "A"
    assert [("if-none-match" in request.headers) for request in web.requests] == [False, True, True]


# --- files --------------------------------------------------------------------------------------


async def test_a_card_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps({**CARD, "url": "https://a.example/rpc"}))
    monkeypatch.chdir(tmp_path)
    for address in (path, str(path), path.as_uri(), "./card.json", "card.json"):
        found = await find(Places(), address)
        assert (found.reading.card.name, found.url) == ("A", "")


async def test_a_file_that_is_not_there_or_no_card(tmp_path: Path) -> None:
    with pytest.raises(CardNotFoundError, match="No such file"):
        await find(Places(), tmp_path / "none.json")
    (tmp_path / "odd.json").write_text("odd")
    with pytest.raises(CardInvalidError, match=r"odd\.json"):
        await find(Places(), tmp_path / "odd.json")
    (tmp_path / "large.json").write_bytes(b" " * (MAX_CARD_BYTES + 1))
    with pytest.raises(CardInvalidError, match="more than"):
        await find(Places(), tmp_path / "large.json")
