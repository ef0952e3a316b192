"""Who is let in by a JWT, and who is not, whatever the token pretends."""

import asyncio
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from dragoman.auth.cards.jws import ALGORITHMS
from dragoman.auth.incoming.bearer_jwt import BearerJwt, OwnerOf
from dragoman.errors import UnauthenticatedError, UnavailableError, UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import AUDIENCE, Issuer, bearer, issuing, packed, refusal, showing

CLOCK = FakeClock()
ISSUER = Issuer(CLOCK)
NOW = CLOCK.now_ms() // 1000


def checking(by: Issuer = ISSUER, **options: Any) -> BearerJwt:
    given: dict[str, Any] = {
        "issuer": by.url,
        "audience": AUDIENCE,
        "keys": by.jwks,
        "clock": by.clock,
    }
    return BearerJwt(**{**given, **options})


# --- who is let in --------------------------------------------------------------------------------


async def test_the_owner_is_issuer_and_subject_and_scopes_are_granted() -> None:
    found = await checking().authenticate(bearer(ISSUER.token(scp=["admin", 7])))
    assert found is not None
    assert found.owner == "https://id.example|alice"
    assert found.scopes == {"read", "write", "admin"}
    assert found.tenants is None
    assert found.expires_ms == (NOW + 600) * 1000


async def test_who_shows_nothing_of_the_kind_is_not_judged() -> None:
    for header in (None, "", "Basic YTpi", "Bearerx abc", "bear er"):
        assert await checking().authenticate(showing(header)) is None


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_case_of_the_scheme_does_not_count(scheme: str) -> None:
    assert await checking().authenticate(showing(f"{scheme}  {ISSUER.token()}"))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
async def test_every_algorithm_with_a_public_key_is_verified(algorithm: str) -> None:
    issuer = Issuer(CLOCK, algorithm)
    assert await checking(issuer).authenticate(bearer(issuer.token()))


@pytest.mark.parametrize("aud", [AUDIENCE, ["other", AUDIENCE], ["https://second.example"]])
async def test_one_of_the_audiences_is_enough(aud: object) -> None:
    found = checking(audience=[AUDIENCE, "https://second.example"])
    assert await found.authenticate(bearer(ISSUER.token(aud=aud)))


async def test_a_token_without_kid_is_tried_with_the_keys_there_are() -> None:
    assert await checking().authenticate(bearer(ISSUER.token(header={"kid": None})))


async def test_owner_scopes_and_tenants_may_come_from_other_claims() -> None:
    by_mail: OwnerOf = lambda claims: f"mail:{claims['email']}"  # noqa: E731 - one expression
    authenticator = checking(owner=by_mail, scope_claims=["roles"], tenant_claim="orgs")
    token = ISSUER.token(email="a@b.example", roles=["x"], orgs=["t1", "t2"])
    found = await authenticator.authenticate(bearer(token))
    assert found is not None
    assert found.owner == "mail:a@b.example"
    assert found.scopes == {"x"}
    assert found.tenants == {"t1", "t2"}
    # Who has no tenants may act in none, not in all.
    found = await authenticator.authenticate(bearer(ISSUER.token(email="c")))
    assert found is not None
    assert found.tenants == frozenset()


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exp": NOW - 30}, "has expired"),
        ({"exp": None}, "does not say when it expires"),
        ({"exp": "tomorrow"}, "a claim is wrong"),
        ({"exp": True}, "a claim is wrong"),
        ({"exp": -1}, "a claim is wrong"),
        ({"exp": float("nan")}, "cannot be read"),
        ({"exp": float("inf")}, "cannot be read"),
        ({"exp": 10**30}, "a claim is wrong"),
        ({"nbf": NOW + 31}, "not good yet"),
        ({"iat": NOW + 31}, "not good yet"),
        ({"aud": "https://other.example"}, "not for us"),
        ({"aud": f"{AUDIENCE}/"}, "not for us"),
        ({"aud": []}, "not for us"),
        ({"aud": None}, "not for us"),
        ({"aud": {"a": 1}}, "a claim is wrong"),
        ({"iss": "https://evil.example"}, "not from the issuer"),
        ({"iss": "https://id.example/"}, "not from the issuer"),
        ({"iss": None}, "not from the issuer"),
        ({"iss": 1}, "cannot be read"),
        ({"sub": None}, "names no subject"),
        ({"sub": ""}, "names no subject"),
        ({"sub": 7}, "a claim is wrong"),
    ],
)
async def test_a_token_that_does_not_count_here_or_now_is_refused(
    changes: dict[str, Any], reason: str
) -> None:
    assert reason in await refusal(checking(), bearer(ISSUER.token(**changes)))


async def test_clocks_may_differ_a_little_and_no_more() -> None:
    token = ISSUER.token(exp=NOW - 29, nbf=NOW + 30, iat=NOW + 30)
    assert await checking().authenticate(bearer(token))
    strict = checking(skew_seconds=0)
    assert "has expired" in await refusal(strict, bearer(ISSUER.token(exp=NOW)))
    assert "not good yet" in await refusal(strict, bearer(ISSUER.token(nbf=NOW + 1)))


async def test_the_type_of_the_token_may_be_asked_for() -> None:
    authenticator = checking(token_type="at+jwt")  # noqa: S106 - no secret
    for typ in ("at+jwt", "AT+JWT", "application/at+jwt"):
        assert await authenticator.authenticate(bearer(ISSUER.token(header={"typ": typ})))
    for typ in ("JWT", None):
        token = ISSUER.token(header={"typ": typ})
        assert "its typ is" in await refusal(authenticator, bearer(token))


async def test_an_owner_function_may_refuse() -> None:
    nobody: OwnerOf = lambda _: ""  # noqa: E731 - one expression
    assert "nobody who is known" in await refusal(checking(owner=nobody), bearer(ISSUER.token()))


# --- forgeries ------------------------------------------------------------------------------------


def unsigned(alg: str, signature: str) -> str:
    return f"{packed({'alg': alg, 'typ': 'JWT'})}.{packed(ISSUER.claims())}{signature}"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", ""])
@pytest.mark.parametrize("signature", [".", "", ".AA"])
async def test_a_token_without_signature_is_worthless(alg: str, signature: str) -> None:
    reason = await refusal(checking(), bearer(unsigned(alg, signature)))
    assert "is no signed JWT" in reason or "not accepted here" in reason


@pytest.mark.parametrize("form", ["pem", "der", "jwk"])
async def test_a_public_key_is_no_shared_secret(form: str) -> None:
    issuer = Issuer(CLOCK, "RS256")
    [public] = issuer.public_keys
    key = RSAKey.import_key({k: public[k] for k in ("kty", "n", "e")})
    secret = {
        "pem": key.as_pem(private=False),
        "der": key.as_der(private=False),
        "jwk": json.dumps(public).encode(),
    }[form]
    for alg, digest in (("HS256", "sha256"), ("HS512", "sha512")):
        body = f"{packed({'alg': alg, 'kid': public['kid']})}.{packed(issuer.claims())}"
        mac = hmac.new(secret, body.encode(), digest).digest()
        forged = f"{body}.{urlsafe_b64encode(mac).decode().rstrip('=')}"
        assert "not accepted here" in await refusal(checking(issuer), bearer(forged))
    # Not even who writes the configuration can open that door.
    with pytest.raises(UsageError, match="'HS256' is not"):
        checking(issuer, algorithms=["RS256", "HS256"])
    with pytest.raises(UsageError, match="'none' is not"):
        checking(issuer, algorithms=["none"])


async def test_a_shared_secret_in_a_key_set_is_not_even_read() -> None:
    secret = {"kty": "oct", "kid": "s", "k": "c2VjcmV0"}
    with pytest.raises(UsageError, match="no key that signatures can be verified with"):
        checking(keys={"keys": [secret]})
    body = f"{packed({'alg': 'HS256', 'kid': 's'})}.{packed(ISSUER.claims())}"
    mac = hmac.new(b"secret", body.encode(), sha256).digest()
    forged = f"{body}.{urlsafe_b64encode(mac).decode().rstrip('=')}"
    both = checking(keys={"keys": [secret, *ISSUER.public_keys]})
    assert "not accepted here" in await refusal(both, bearer(forged))


def with_other_key(token: str) -> str:
    del token
    stranger = Issuer(CLOCK)
    [key] = ISSUER.public_keys
    return stranger.token(header={"kid": key["kid"]})


def with_own_key_inside(token: str) -> str:
    del token
    stranger = Issuer(CLOCK)
    [key] = stranger.public_keys
    [known] = ISSUER.public_keys
    return stranger.token(header={"jwk": key, "kid": known["kid"]})


def with_other_claims(token: str) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{packed(ISSUER.claims(sub='root'))}.{signature}"


def with_critical_extension(token: str) -> str:
    _, claims, signature = token.split(".")
    head = packed({"alg": "ES256", "crit": ["b64"], "b64": False})
    return f"{head}.{claims}.{signature}"


def with_flipped_signature(token: str) -> str:
    head, claims, signature = token.split(".")
    return f"{head}.{claims}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def with_other_algorithm(token: str) -> str:
    _, claims, signature = token.split(".")
    return f"{packed({'alg': 'RS256'})}.{claims}.{signature}"


FORGERIES: list[Callable[[str], str]] = [
    with_other_key,
    with_own_key_inside,
    with_other_claims,
    with_critical_extension,
    with_flipped_signature,
    with_other_algorithm,
]


@pytest.mark.parametrize("forge", FORGERIES)
async def test_a_forged_token_is_refused(forge: Callable[[str], str]) -> None:
    reason = await refusal(checking(), bearer(forge(ISSUER.token())))
    assert "not signed with a key of the issuer" in reason or "critical extensions" in reason


async def test_a_key_is_for_the_algorithm_it_names() -> None:
    issuer = Issuer(CLOCK, "RS256")
    [key] = issuer.public_keys
    other = checking(issuer, keys={"keys": [{**key, "alg": "PS256"}]})
    assert "not signed with a key" in await refusal(other, bearer(issuer.token()))


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "abc",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",
        "..",
        "....",
        "a b",
        "a,b",
        "\N{LATIN SMALL LETTER E WITH ACUTE}.a.a",
        "a\x00.b.c",
        f"{packed([])}.{packed({})}.AA",
        f"{packed({'alg': 1})}.{packed({})}.AA",
        f"{packed({'alg': 'ES256', 'kid': 1})}.{packed({})}.AA",
        pytest.param("a" * 16_384, id="longest"),
        pytest.param("a" * 16_385, id="too long"),
        pytest.param(f"{urlsafe_b64encode(b'[' * 9000).decode()}.AA.AA", id="deep"),
    ],
)
async def test_what_is_no_token_is_refused(token: str) -> None:
    assert await refusal(checking(), bearer(token))


async def test_two_tokens_at_once_are_none() -> None:
    good = ISSUER.token()
    assert await refusal(checking(), showing(f"Bearer {good},Bearer {good}"))
    assert await refusal(checking(), showing(f"Bearer {good}, {good}"))
    # The scheme that comes first decides; what stands behind it is not looked for.
    assert await checking().authenticate(showing(f"Basic YTpi,Bearer {good}")) is None


async def test_a_refusal_has_the_challenge_of_rfc_6750_and_no_reason() -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        await checking().authenticate(bearer(ISSUER.token(exp=1)))
    assert caught.value.challenges == ('Bearer realm="a2a", error="invalid_token"',)
    assert "expired" not in caught.value.message
    assert checking().challenge == 'Bearer realm="a2a"'


# --- keys over the network ------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_an_issuer_may_change_its_keys(algorithm: str) -> None:
    clock = FakeClock()
    async with issuing(clock, algorithm) as issuer:
        authenticator = checking(issuer, keys=None, jwks_url=f"{issuer.url}/jwks")
        before = issuer.token()
        assert await authenticator.authenticate(bearer(before))
        issuer.rotate(algorithm)
        clock.advance(10)
        assert await authenticator.authenticate(bearer(issuer.token()))
        assert issuer.asked == {"/jwks": 2}
        # Signed with a key that was withdrawn; it is forgotten after a minute at the latest.
        clock.advance(60)
        assert "key is not known" in await refusal(authenticator, bearer(before))


async def test_a_storm_of_unknown_keys_fetches_them_once() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        authenticator = checking(issuer, keys=None, jwks_url=f"{issuer.url}/jwks")
        stranger = Issuer(clock)
        stranger.url = issuer.url
        tokens = [stranger.token(header={"kid": f"made-up-{n}"}) for n in range(50)]
        reasons = await asyncio.gather(*(refusal(authenticator, bearer(one)) for one in tokens))
        assert all("key is not known" in reason for reason in reasons)
        assert issuer.asked == {"/jwks": 1}
        # Who has a good token is let in all the while.
        assert await authenticator.authenticate(bearer(issuer.token()))
        clock.advance(10)
        await asyncio.gather(*(refusal(authenticator, bearer(one)) for one in tokens))
        assert issuer.asked == {"/jwks": 2}


async def test_tokens_of_others_have_no_keys_fetched() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        authenticator = checking(issuer, keys=None, jwks_url=f"{issuer.url}/jwks")
        await refusal(authenticator, bearer(Issuer(clock).token()))
        await refusal(authenticator, bearer(unsigned("none", ".AA")))
        assert issuer.asked == {}


async def test_an_issuer_that_is_down_is_no_proof_against_the_caller() -> None:
    clock = FakeClock()
    async with issuing(clock) as issuer:
        authenticator = checking(issuer, keys=None, jwks_url=f"{issuer.url}/jwks")
        issuer.is_down = True
        for _ in range(3):
            with pytest.raises(UnavailableError, match="cannot be fetched now"):
                await authenticator.authenticate(bearer(issuer.token()))
        assert issuer.asked == {"/jwks": 1}
        issuer.is_down = False
        clock.advance(10)
        assert await authenticator.authenticate(bearer(issuer.token()))


# --- remembering ----------------------------------------------------------------------------------


async def test_a_token_is_remembered_for_a_minute_and_never_past_its_end() -> None:
    clock = FakeClock()
    issuer = Issuer(clock)
    asked: list[object] = []

    def owner(claims: object) -> str:
        asked.append(claims)
        return "a"

    authenticator = checking(issuer, owner=owner, skew_seconds=0)
    lasting, ending = issuer.token(), issuer.token(exp=clock.now_ms() // 1000 + 20)
    for token in (lasting, ending):
        for _ in range(3):
            assert await authenticator.authenticate(bearer(token))
    assert len(asked) == 2
    clock.advance(20)
    assert await authenticator.authenticate(bearer(lasting))
    assert "has expired" in await refusal(authenticator, bearer(ending))
    clock.advance(40)
    assert await authenticator.authenticate(bearer(lasting))
    assert len(asked) == 3


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ({"issuer": ""}, "issuer is missing"),
        ({"audience": ""}, "audience is missing"),
        ({"audience": []}, "audience is missing"),
        ({"keys": None}, "give keys or jwks_url"),
        ({"keys": {"keys": []}}, "no key that signatures"),
        ({"jwks_url": "http://id.example/jwks"}, "by https alone"),
        ({"skew_seconds": 301}, "skew_seconds must be"),
        ({"algorithms": []}, "algorithms must be among"),
        ({"remember_seconds": 61}, "remembered for 0 to 60 seconds"),
    ],
)
def test_what_would_open_the_door_is_no_configuration(
    options: dict[str, Any], finding: str
) -> None:
    with pytest.raises(UsageError, match=finding):
        checking(**options)


def test_the_card_tells_of_it() -> None:
    found = checking(name="jwt", description="Ask the desk.")
    assert found.name == "jwt"
    assert found.scheme.http_auth_security_scheme is not None
    assert found.scheme.http_auth_security_scheme.scheme == "Bearer"
    assert found.scheme.http_auth_security_scheme.bearer_format == "JWT"
    assert found.scheme.http_auth_security_scheme.description == "Ask the desk."
