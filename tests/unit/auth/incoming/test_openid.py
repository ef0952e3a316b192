"""An issuer on a real socket, found by its own metadata."""

import asyncio
from typing import Any

import pytest

from dragoman.auth.incoming.openid import OpenId
from dragoman.errors import UnavailableError, UsageError
from dragoman.model.security import ClientCredentialsOAuthFlow, OAuthFlows
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import AUDIENCE, Issuer, bearer, issuing, refusal

METADATA, JWKS = "/.well-known/openid-configuration", "/jwks"
FLOWS = OAuthFlows(
    client_credentials=ClientCredentialsOAuthFlow(token_url="https://id.example/t", scopes={})  # noqa: S106 - an address
)


def checking(issuer: Issuer, **options: Any) -> OpenId:
    given: dict[str, Any] = {"audience": AUDIENCE, "clock": issuer.clock}
    return OpenId(issuer.url, **{**given, **options})


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_the_keys_are_found_and_found_again_when_they_change(algorithm: str) -> None:
    clock = FakeClock()
    async with issuing(clock, algorithm) as issuer:
        authenticator = checking(issuer)
        assert issuer.asked == {}
        found = await authenticator.authenticate(bearer(issuer.token()))
        assert found is not None
        assert found.owner == f"{issuer.url}|alice"
        assert found.scopes == {"read", "write"}
        issuer.rotate("ES256" if algorithm == "RS256" else "RS256", keep=True)
        clock.advance(10)
        assert await authenticator.authenticate(bearer(issuer.token(sub="bob")))
        assert issuer.asked == {METADATA: 2, JWKS: 2}


async def test_many_who_come_at_once_have_the_keys_fetched_once() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        tokens = [issuer.token(sub=f"user-{n}") for n in range(30)]
        calls = (authenticator.authenticate(bearer(token)) for token in tokens)
        found = await asyncio.gather(*calls)
        assert len({one.owner for one in found if one}) == 30
        assert issuer.asked == {METADATA: 1, JWKS: 1}


async def test_wrong_audience_issuer_and_time_are_refused() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        now = issuer.clock.now_ms() // 1000
        wrong: list[dict[str, Any]] = [
            {"aud": "x"},
            {"exp": now - 31},
            {"nbf": now + 31},
            {"iss": "x"},
        ]
        for changes in wrong:
            assert await refusal(authenticator, bearer(issuer.token(**changes)))


async def test_an_issuer_that_is_down_locks_out_nobody_for_an_hour() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        authenticator = checking(issuer)
        assert await authenticator.authenticate(bearer(issuer.token()))
        issuer.is_down = True
        clock.advance(301)
        assert await authenticator.authenticate(bearer(issuer.token()))
        # Both places of the metadata were asked, once.
        asked = issuer.asked.copy()
        assert await authenticator.authenticate(bearer(issuer.token(sub="b")))
        assert issuer.asked == asked
        clock.advance(3300)
        with pytest.raises(UnavailableError):
            await authenticator.authenticate(bearer(issuer.token()))


async def test_metadata_of_another_issuer_is_not_believed() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        token = issuer.token()
        issuer.url = "https://evil.example"
        with pytest.raises(UnavailableError):
            await authenticator.authenticate(bearer(token))
        assert issuer.asked[JWKS] == 0


def test_the_card_names_where_to_look() -> None:
    issuer = Issuer(FakeClock())
    scheme = checking(issuer).scheme.open_id_connect_security_scheme
    assert scheme is not None
    assert scheme.open_id_connect_url == f"{issuer.url}{METADATA}"
    assert checking(issuer).name == "openid"
    oauth = checking(issuer, flows=FLOWS).scheme.oauth2_security_scheme
    assert oauth is not None
    assert oauth.flows == FLOWS
    assert oauth.oauth2_metadata_url == f"{issuer.url}/.well-known/oauth-authorization-server"
    assert checking(issuer, flows=FLOWS).name == "oauth2"


@pytest.mark.parametrize("url", ["http://id.example", "id.example", ""])
def test_an_issuer_is_reached_safely_or_not_at_all(url: str) -> None:
    with pytest.raises(UsageError):
        OpenId(url, audience=AUDIENCE)
