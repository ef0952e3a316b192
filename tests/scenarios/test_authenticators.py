"""Every authenticator on a real server, met by our client as the card says, on every binding."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from dragoman import Agent, Context
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.auth.incoming.combining import AllOf, Alternative, Scoped
from dragoman.auth.incoming.custom import CustomAuthenticator
from dragoman.auth.incoming.introspection import Introspection
from dragoman.auth.incoming.openid import OpenId
from dragoman.auth.incoming.passwords import hash_password
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer, Custom
from dragoman.auth.outgoing.requirements import Held
from dragoman.client.connect import connect
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.model.security import HTTPAuthSecurityScheme, SecurityScheme
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import AUDIENCE, Issuer, issuing
from tests.support.serving import serving

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
KEYS = {"the-key": "ada"}
WRONG = "wrong"


class Case(NamedTuple):
    """What an agent asks for, who calls with what, and as whom."""

    auth: Sequence[Alternative]
    good: Held
    owner: str
    bad: Held


def identify(evidence: Evidence) -> Principal | None:
    shown = evidence.headers.get(b"x-own")
    if shown is None:
        return None
    if shown != "good":
        raise UnauthenticatedError
    return Principal(owner="own:ada")


OWN = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Own"))
USERS = BasicUsers({"ada": hash_password("s3cret")})


def cases(issuer: Issuer) -> dict[str, Case]:
    token, forged = issuer.token(), Issuer(issuer.clock).token(iss=issuer.url)
    issuer.answers["opaque"] = (200, {"active": True, "sub": "ada"})
    asked = f"{issuer.url}/introspect"
    by_key = ApiKeys(KEYS)
    return {
        "header": Case([by_key], ApiKey("the-key"), "key:ada", ApiKey(WRONG)),
        "query": Case(
            [ApiKeys(KEYS, location="query", parameter="key")],
            ApiKey("the-key"),
            "key:ada",
            ApiKey(WRONG),
        ),
        "cookie": Case(
            [ApiKeys(KEYS, location="cookie", parameter="key")],
            ApiKey("the-key"),
            "key:ada",
            ApiKey(WRONG),
        ),
        "basic": Case([USERS], Basic("ada", "s3cret"), "basic:ada", Basic("ada", WRONG)),
        "jwt": Case(
            [
                BearerJwt(
                    issuer=issuer.url,
                    audience=AUDIENCE,
                    jwks_url=f"{issuer.url}/jwks",
                    clock=issuer.clock,
                )
            ],
            Bearer(token),
            f"{issuer.url}|alice",
            Bearer(forged),
        ),
        "openid": Case(
            [OpenId(issuer.url, audience=AUDIENCE, clock=issuer.clock)],
            Bearer(token),
            f"{issuer.url}|alice",
            Bearer(forged),
        ),
        "introspection": Case(
            [Introspection(asked, client_id="agent", client_secret=WRONG, clock=issuer.clock)],
            Bearer("opaque"),
            f"{asked}|ada",
            Bearer("revoked"),
        ),
        "custom": Case(
            [CustomAuthenticator(identify, name="own", scheme=OWN)],
            Custom(lambda _: {"X-Own": "good"}),
            "own:ada",
            Custom(lambda _: {"X-Own": WRONG}),
        ),
        "all of": Case(
            [AllOf(by_key, USERS)],
            [ApiKey("the-key"), Basic("ada", "s3cret")],
            "key:ada",
            [ApiKey("the-key"), Basic("ada", WRONG)],
        ),
        "any of": Case([USERS, by_key], ApiKey("the-key"), "key:ada", Basic("ada", WRONG)),
    }


NAMES = tuple(cases(Issuer(FakeClock())))


@asynccontextmanager
async def guarded(auth: Sequence[Alternative]) -> AsyncGenerator[str]:
    """Serve an agent that tells callers who they are."""
    agent = Agent("Guarded", "Tells who calls.", auth=auth)

    @agent.skill
    async def whoami(ctx: Context, text: str) -> str:  # pyright: ignore[reportUnusedFunction] - called by its name
        """Tell who calls."""
        return f"{text}: {ctx.principal.owner}"

    async with serving(agent) as served:
        yield served.url


async def said(url: str, held: Held, binding: str) -> str | None:
    async with connect(url, auth=held, binding=binding) as agent:
        return (await agent.send("you are")).text


@pytest.mark.requirement("R-7.3-1", "R-13.3-2")
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", NAMES)
async def test_who_shows_what_the_card_asks_for_is_known_and_nobody_else(
    name: str, binding: str
) -> None:
    async with issuing(FakeClock()) as issuer:
        case = cases(issuer)[name]
        async with guarded(case.auth) as url:
            assert await said(url, case.good, binding) == f"you are: {case.owner}"
            with pytest.raises(UnauthenticatedError):
                await said(url, case.bad, binding)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_scope_that_the_card_asks_for_is_needed_on_every_binding(binding: str) -> None:
    keys = ApiKeys(
        {"a": Principal(owner="ada", scopes=frozenset({"use"})), "b": Principal(owner="bob")}
    )
    async with guarded([Scoped(keys, "use")]) as url:
        assert await said(url, ApiKey("a"), binding) == "you are: ada"
        with pytest.raises(PermissionDeniedError, match="use"):
            await said(url, ApiKey("b"), binding)
