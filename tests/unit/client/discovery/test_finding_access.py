from __future__ import annotations

import logging
from pathlib import Path

import httpx2
import msgspec
import pytest

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer
from dragoman.auth.outgoing.requirements import Held
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.finding import Address, FoundCard, get_card
from dragoman.client.discovery.trust import CardTrust
from dragoman.client.errors import CardUntrustedError
from dragoman.client.transports.tls import Tls
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.cards import AgentInterface
from tests.support.auth.signing_cards import FULL, new_key
from tests.support.client.fakes import QuickClock, Web, card, web_pool

INTERFACE = AgentInterface(
    url="https://a.example/rpc", protocol_binding="JSONRPC", protocol_version="1.0"
)
CACHED = {"cache-control": "max-age=60"}


def served(headers: dict[str, str] | None = None) -> Web:
    body = msgspec.json.encode(card(INTERFACE))
    return Web(lambda _: httpx2.Response(200, content=body, headers=headers))


async def get(
    web: Web,
    address: Address = "https://a.example",
    *,
    cache: CardCache | None = None,
    held: Held | None = None,
    trust: CardTrust | None = None,
) -> FoundCard:
    return await get_card(
        address,
        pool=web_pool(web),
        tls=Tls(),
        cache=cache or CardCache(),
        clock=QuickClock(),
        headers={"X-Team": "blue"},
        held=held,
        trust=trust,
    )


@pytest.mark.requirement("R-3.6.1-1")
async def test_the_request_for_a_card_says_which_version_is_understood() -> None:
    web = served()
    assert (await get(web)).reading.card.name == "Agent"
    assert web.last.headers["a2a-version"] == "1.0"
    assert web.last.headers["x-team"] == "blue"
    assert "authorization" not in web.last.headers


@pytest.mark.parametrize(
    ("held", "name", "value"),
    [
        (Bearer("t0ken"), "authorization", "Bearer t0ken"),
        (Basic("u", "p"), "authorization", "Basic dTpw"),
        (ApiKey(key="k", name="X-Key"), "x-key", "k"),
        (ApiKey(key="k", name="key", location="cookie"), "cookie", "key=k"),
    ],
)
async def test_who_says_so_shows_credentials_for_the_card(
    held: Held, name: str, value: str
) -> None:
    web = served()
    await get(web, held=held)
    assert web.last.headers[name] == value


async def test_a_key_may_travel_in_the_query_of_the_card() -> None:
    web = served()
    await get(web, "https://a.example/card?v=1", held=ApiKey(key="k", name="key", location="query"))
    assert str(web.last.url) == "https://a.example/card?v=1&key=k"


async def test_a_key_without_a_name_cannot_be_shown_for_a_card() -> None:
    with pytest.raises(UsageError, match="give it a name"):
        await get(served(), held=ApiKey(key="k"))


async def test_credentials_for_another_origin_are_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    web = served()
    with caplog.at_level(logging.WARNING):
        await get(web, held=Bearer("t", for_origin="https://other.example"))
    assert "authorization" not in web.last.headers
    assert "a credential is not sent for the card" in caplog.text


async def test_a_card_that_was_got_by_credentials_is_kept_for_nobody_else() -> None:
    web, cache = served(CACHED), CardCache()
    await get(web, cache=cache, held=Bearer("mine"))
    await get(web, cache=cache, held=Bearer("yours"))
    assert [one.headers["authorization"] for one in web.requests] == [
        "Bearer mine",
        "Bearer yours",
    ]
    await get(web, cache=cache)
    assert len(web.requests) == 3
    await get(web, cache=cache)
    assert len(web.requests) == 3


async def test_a_refusal_is_told() -> None:
    challenge = {"www-authenticate": "Bearer"}
    web = Web(lambda _: httpx2.Response(401, headers=challenge))
    with pytest.raises(UnauthenticatedError):
        await get(web)


async def test_a_file_needs_no_credentials(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(card(INTERFACE)))
    for address in (tmp_path / "card.json", str(tmp_path / "card.json")):
        found = await get(served(), address, held=Bearer("t"))
        assert found.url == ""


async def test_a_card_that_is_given_is_taken_as_it_is() -> None:
    given = card(INTERFACE)
    assert (await get(served(), given)).reading.card is given


async def test_of_an_interface_alone_everything_is_expected() -> None:
    found = (await get(served(), INTERFACE)).reading.card
    assert found.supported_interfaces == (INTERFACE,)
    assert found.capabilities.streaming
    assert found.capabilities.extended_agent_card


async def test_a_card_must_be_signed_by_whom_the_caller_trusts() -> None:
    signer = CardSigner(new_key("ES256"))
    trust = CardTrust(TrustedKeys(signer.public_keys))
    body = msgspec.json.encode(signer.signed(FULL))
    web = Web(lambda _: httpx2.Response(200, content=body))
    assert (await get(web, trust=trust)).reading.card.name == "Planner"
    # So must one that is given.
    assert (await get(web, signer.signed(FULL), trust=trust)).reading.card.name == "Planner"
    with pytest.raises(CardUntrustedError):
        await get(web, FULL, trust=trust)
    with pytest.raises(CardUntrustedError, match="not signed"):
        await get(served(), trust=trust)


async def test_an_interface_has_no_signature() -> None:
    trust = CardTrust(TrustedKeys())
    with pytest.raises(UsageError, match="has no signature"):
        await get(served(), INTERFACE, trust=trust)


async def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(UsageError, match="is no address"):
        await get(served(), 7)  # pyright: ignore[reportArgumentType] - that is the point
