"""Tokens that only their issuer can read, asked for over a real socket."""

import asyncio
from base64 import b64encode
from typing import Any

import pytest

from dragoman.auth.incoming.introspection import Introspection
from dragoman.errors import UnavailableError, UsageError
from dragoman.model.security import ClientCredentialsOAuthFlow, OAuthFlows
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import AUDIENCE, Issuer, bearer, issuing, refusal, showing

ASKED = "/introspect"


def checking(by: Issuer, **options: Any) -> Introspection:
    given: dict[str, Any] = {
        "client_id": "agent",
        "client_secret": "s3:cret",
        "clock": by.clock,
    }
    return Introspection(f"{by.url}{ASKED}", **{**given, **options})


def active(issuer: Issuer, **changes: object) -> tuple[int, object]:
    return 200, {"active": True, **issuer.claims(iss=None, aud=None, **changes)}


async def test_a_token_that_its_issuer_calls_active_is_good() -> None:
    async with issuing(FakeClock()) as issuer:
        issuer.answers["opaque-1"] = active(issuer, client_id="c")
        found = await checking(issuer).authenticate(bearer("opaque-1"))
        assert found is not None
        assert found.owner == f"{issuer.url}{ASKED}|alice"
        assert found.scopes == {"read", "write"}
        # RFC 6749, 2.3.1: who we are, each half encoded before they are joined.
        pair = b64encode(b"agent:s3%3Acret").decode()
        assert issuer.secrets == [f"Basic {pair}"]


async def test_what_the_issuer_says_is_believed_for_a_minute() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        authenticator = checking(issuer)
        issuer.answers["t"] = active(issuer)
        for _ in range(3):
            assert await authenticator.authenticate(bearer("t"))
        assert issuer.asked == {ASKED: 1}
        del issuer.answers["t"]
        clock.advance(60)
        assert "not active" in await refusal(authenticator, bearer("t"))


async def test_it_is_asked_once_for_all_who_show_the_same_at_once() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        issuer.answers["t"] = active(issuer)
        calls = (authenticator.authenticate(bearer("t")) for _ in range(20))
        assert all(await asyncio.gather(*calls))
        assert issuer.asked == {ASKED: 1}


async def test_a_token_that_never_ends_is_asked_for_again() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        issuer.answers["t"] = active(issuer, exp=None)
        found = await checking(issuer).authenticate(bearer("t"))
        assert found is not None
        assert found.expires_ms == clock.now_ms() + 60_000


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"active": False, "sub": "a"},
        {"active": "true", "sub": "a"},
        {"active": 1, "sub": "a"},
        {"active": True},
        {"active": True, "sub": ""},
        {"active": True, "sub": "a", "exp": 1},
        {"active": True, "sub": "a", "nbf": 2**40},
        {"active": True, "sub": "a", "exp": "soon"},
        [],
        "active",
    ],
)
async def test_any_other_answer_lets_nobody_in(answer: object) -> None:
    async with issuing(FakeClock()) as issuer:
        issuer.answers["t"] = (200, answer)
        assert await refusal(checking(issuer), bearer("t"))


@pytest.mark.parametrize("changes", [{"iss": "https://evil.example"}, {"aud": "other"}])
async def test_issuer_and_audience_are_checked_when_they_are_asked_for(
    changes: dict[str, object],
) -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer, issuer="https://id.example", audience=AUDIENCE)
        good = {"iss": "https://id.example", "aud": [AUDIENCE]}
        issuer.answers["good"] = (200, {"active": True, **issuer.claims(**good)})
        issuer.answers["bad"] = (200, {"active": True, **issuer.claims(**{**good, **changes})})
        found = await authenticator.authenticate(bearer("good"))
        assert found is not None
        assert found.owner == "https://id.example|alice"
        assert await refusal(authenticator, bearer("bad"))


async def test_an_issuer_that_finds_fault_with_the_token_has_refused_it() -> None:
    async with issuing(FakeClock()) as issuer:
        issuer.answers["t"] = (400, {"error": "invalid_request"})
        assert "refuses it" in await refusal(checking(issuer), bearer("t"))


@pytest.mark.parametrize("answer", [(401, {"error": "invalid_client"}), (500, {}), (403, {})])
async def test_an_issuer_that_does_not_know_us_is_no_fault_of_the_caller(
    answer: tuple[int, object],
) -> None:
    async with issuing(FakeClock()) as issuer:
        issuer.answers["t"] = answer
        with pytest.raises(UnavailableError, match="cannot be checked now"):
            await checking(issuer).authenticate(bearer("t"))


async def test_a_flood_of_made_up_tokens_is_bounded() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        issuer.answers["good"] = active(issuer)
        assert await authenticator.authenticate(bearer("good"))
        calls = (authenticator.authenticate(bearer(f"made-up-{n}")) for n in range(300))
        async with asyncio.timeout(15):
            found = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(one, UnavailableError) for one in found) == 300 - 256
        assert issuer.asked[ASKED] == 1 + 256
        assert await authenticator.authenticate(bearer("good"))


async def test_what_is_no_token_is_not_asked_about() -> None:
    async with issuing(FakeClock()) as issuer:
        authenticator = checking(issuer)
        for token in ("", "a b", "a,b", "a" * 16_385, "\xe9"):
            await refusal(authenticator, bearer(token))
        for header in (None, "", "Basic YTpi"):
            assert await authenticator.authenticate(showing(header)) is None
        assert issuer.asked == {}


def test_the_card_tells_of_it() -> None:
    issuer = Issuer(FakeClock())
    scheme = checking(issuer).scheme.http_auth_security_scheme
    assert scheme is not None
    assert (scheme.scheme, scheme.bearer_format) == ("Bearer", "")
    flow = ClientCredentialsOAuthFlow(token_url="https://id.example/t", scopes={})  # noqa: S106 - an address
    oauth = checking(issuer, flows=OAuthFlows(client_credentials=flow))
    assert oauth.name == "oauth2"
    assert oauth.scheme.oauth2_security_scheme is not None


def test_tokens_are_shown_safely_or_not_at_all() -> None:
    with pytest.raises(UsageError, match="by https alone"):
        Introspection("http://id.example/i", client_id="a", client_secret="b")  # noqa: S106 - of nobody
    with pytest.raises(UsageError, match="client_id is missing"):
        Introspection("https://id.example/i", client_id="", client_secret="b")  # noqa: S106 - of nobody
