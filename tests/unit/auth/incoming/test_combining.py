from base64 import b64encode

import pytest

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.auth.incoming.combining import AllOf, Combination, Scoped
from dragoman.auth.incoming.custom import CustomAuthenticator
from dragoman.errors import (
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
    UsageError,
)
from dragoman.model.security import (
    APIKeySecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import AUDIENCE, Issuer, showing

KEYS = ApiKeys({"k1": "alice", "k2": Principal(owner="bob", scopes=frozenset({"read"}))})
USERS = BasicUsers(lambda user, _: user)
CLOCK = FakeClock()
ISSUER = Issuer(CLOCK)
JWTS = BearerJwt(issuer=ISSUER.url, audience=AUDIENCE, keys=ISSUER.jwks, clock=CLOCK)


def requirement(**schemes: list[str]) -> SecurityRequirement:
    return SecurityRequirement(
        schemes={name: StringList(list=tuple(scopes)) for name, scopes in schemes.items()}
    )


def basic(user: str = "bob") -> str:
    return f"Basic {b64encode(f'{user}:x'.encode()).decode()}"


async def owner(combination: Combination, evidence: Evidence) -> str:
    return (await combination.authenticate(evidence)).owner


async def refusal(combination: Combination, evidence: Evidence) -> UnauthenticatedError:
    with pytest.raises(UnauthenticatedError) as caught:
        await combination.authenticate(evidence)
    return caught.value


class Counting:
    """An authenticator that says always the same, and counts who asks."""

    def __init__(self, name: str, verdict: Principal | Exception | None) -> None:
        self.name = name
        self.scheme = KEYS.scheme
        self.challenge = f"C {name}"
        self.asked = 0
        self._verdict = verdict

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        del evidence
        self.asked += 1
        if isinstance(self._verdict, Exception):
            raise self._verdict
        return self._verdict


# --- any of ---------------------------------------------------------------------------------------


async def test_any_alternative_is_enough() -> None:
    combination = Combination([KEYS, USERS, JWTS])
    assert await owner(combination, showing(x_api_key="k1")) == "key:alice"
    assert await owner(combination, showing(basic())) == "basic:bob"
    assert await owner(combination, showing(f"Bearer {ISSUER.token()}")) == f"{ISSUER.url}|alice"
    # Of several that are good, the one that the card has first counts.
    assert await owner(combination, showing(basic(), x_api_key="k1")) == "key:alice"


async def test_who_shows_nothing_is_told_all_that_could_be_shown() -> None:
    error = await refusal(Combination([KEYS, USERS, JWTS]), showing())
    assert error.message == "Authentication required"
    assert error.challenges == (
        'ApiKey realm="a2a", in="header", name="X-API-Key"',
        'Basic realm="a2a", charset="UTF-8"',
        'Bearer realm="a2a"',
    )
    assert error.challenges == Combination([KEYS, USERS, JWTS]).challenges


async def test_who_shows_what_is_not_good_is_told_so() -> None:
    error = await refusal(Combination([KEYS, JWTS]), showing("Bearer x"))
    assert error.message == "The credentials are not good"
    assert error.challenges[1] == 'Bearer realm="a2a", error="invalid_token"'
    assert "no signed JWT" in str(error.__cause__)


async def test_what_is_not_good_does_not_spoil_what_is() -> None:
    combination = Combination([KEYS, USERS])
    assert await owner(combination, showing(basic(), x_api_key="wrong")) == "basic:bob"


async def test_two_issuers_share_one_header_and_one_line_of_the_card() -> None:
    second = Issuer(CLOCK)
    second.url = "https://second.example"
    other = BearerJwt(issuer=second.url, audience=AUDIENCE, keys=second.jwks, clock=CLOCK)
    combination = Combination([JWTS, other])
    assert await owner(combination, showing(f"Bearer {second.token()}")) == f"{second.url}|alice"
    assert await owner(combination, showing(f"Bearer {ISSUER.token()}")) == f"{ISSUER.url}|alice"
    assert combination.requirements == (requirement(bearer=[]),)
    error = await refusal(combination, showing(f"Bearer {Issuer(CLOCK).token()}"))
    assert error.challenges == ('Bearer realm="a2a", error="invalid_token"',)


async def test_what_cannot_be_checked_is_told_unless_another_is_good() -> None:
    down = Counting("down", UnavailableError("not now"))
    with pytest.raises(UnavailableError, match="not now"):
        await Combination([down, KEYS]).authenticate(showing(x_api_key="wrong"))
    assert await owner(Combination([down, KEYS]), showing(x_api_key="k1")) == "key:alice"


async def test_what_breaks_lets_nobody_in() -> None:
    with pytest.raises(KeyError):
        await Combination([Counting("a", KeyError("x")), KEYS]).authenticate(showing())


# --- all of ---------------------------------------------------------------------------------------


async def test_all_of_an_alternative_must_be_shown() -> None:
    combination = Combination(AllOf(KEYS, USERS))
    assert await owner(combination, showing(basic(), x_api_key="k1")) == "key:alice"
    for evidence in (showing(x_api_key="k1"), showing(basic())):
        assert (await refusal(combination, evidence)).message == "Authentication required"
    error = await refusal(combination, showing(basic(), x_api_key="wrong"))
    assert error.message == "The credentials are not good"


async def test_scopes_are_united_and_tenants_are_those_that_all_allow() -> None:
    first = Principal(
        owner="a", scopes=frozenset({"r"}), tenants=frozenset({"t", "u"}), expires_ms=20
    )
    second = Principal(owner="b", scopes=frozenset({"w"}), tenants=frozenset({"u", "v"}))
    third = Principal(owner="c", expires_ms=10)
    members = [Counting(one.owner, one) for one in (first, second, third)]
    assert await Combination(AllOf(*members)).authenticate(showing()) == Principal(
        owner="a", scopes=frozenset({"r", "w"}), tenants=frozenset({"u"}), expires_ms=10
    )
    open_to_all = [Counting("x", third), Counting("y", third)]
    assert (await Combination(AllOf(*open_to_all)).authenticate(showing())).tenants is None


async def test_one_that_is_part_of_several_alternatives_is_asked_once() -> None:
    shared, missing = Counting("s", Principal(owner="s")), Counting("m", None)
    combination = Combination([AllOf(shared, missing), AllOf(missing, shared), shared])
    assert await owner(combination, showing()) == "s"
    assert (shared.asked, missing.asked) == (1, 1)


# --- scopes ---------------------------------------------------------------------------------------


async def test_scopes_that_the_card_asks_for_are_enforced() -> None:
    combination = Combination(Scoped(KEYS, "read", "write"))
    assert combination.requirements == (requirement(apiKey=["read", "write"]),)
    with pytest.raises(PermissionDeniedError) as caught:
        await combination.authenticate(showing(x_api_key="k2"))
    assert caught.value.metadata == {"missingScopes": "write"}
    assert await owner(Combination(Scoped(KEYS, "read")), showing(x_api_key="k2")) == "bob"
    # Who is not known does not learn of scopes.
    await refusal(combination, showing(x_api_key="wrong"))
    await refusal(combination, showing())


async def test_who_lacks_a_scope_may_come_by_another_way() -> None:
    combination = Combination([Scoped(KEYS, "write"), USERS])
    assert await owner(combination, showing(basic(), x_api_key="k2")) == "basic:bob"
    with pytest.raises(PermissionDeniedError):
        await combination.authenticate(showing(x_api_key="k2"))


# --- the card -------------------------------------------------------------------------------------


def test_the_card_says_what_is_enforced() -> None:
    combination = Combination([AllOf(KEYS, Scoped(JWTS, "agent")), USERS])
    assert combination.schemes == {
        "apiKey": KEYS.scheme,
        "bearer": JWTS.scheme,
        "basic": USERS.scheme,
    }
    assert combination.requirements == (
        requirement(apiKey=[], bearer=["agent"]),
        requirement(basic=[]),
    )


def test_two_schemes_have_two_names() -> None:
    other = CustomAuthenticator(
        lambda _: None,
        name="apiKey",
        scheme=SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(location="query", name="k")
        ),
    )
    with pytest.raises(UsageError, match="two security schemes are called 'apiKey'"):
        Combination([KEYS, other])
    with pytest.raises(UsageError, match="each with its own name"):
        AllOf(KEYS, other)


def test_what_would_ask_for_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no authenticator"):
        Combination([])
    with pytest.raises(UsageError, match="two or more"):
        AllOf(KEYS)
    with pytest.raises(UsageError, match="at least one scope"):
        Scoped(KEYS)


# --- who signs bodies -----------------------------------------------------------------------------


class Signed(Counting):
    """An authenticator whose callers sign bodies."""

    signs_bodies = True

    def __init__(self, *, is_optional: bool = False) -> None:
        super().__init__("signed", Principal(owner="alice"))
        self.is_optional = is_optional


def test_json_rpc_alone_is_left_where_every_way_in_is_a_signature() -> None:
    signed = Signed()
    for alternatives in (signed, [signed], [AllOf(KEYS, signed)], Scoped(signed, "read")):
        assert Combination(alternatives).needs_body
    for alternatives in (KEYS, [signed, KEYS], Scoped(KEYS, "read"), [AllOf(KEYS, USERS), signed]):
        assert not Combination(alternatives).needs_body


class Accounts(Signed):
    """One whose callers are accounts."""

    owner_prefix = "account:"


def test_accounts_are_told_wherever_they_are_a_part_of_a_way_in() -> None:
    for alternatives in (
        [KEYS, Accounts()],
        [AllOf(KEYS, Accounts())],
        Scoped(Accounts(), "read"),
    ):
        assert Combination(alternatives).account_prefixes == ("account:",)
    # Who signs in another way has no account.
    for alternatives in ([KEYS, AllOf(KEYS, USERS)], Signed(), Scoped(Signed(), "read")):
        assert Combination(alternatives).account_prefixes == ()


def test_a_card_says_that_it_does_not_insist_on_signatures() -> None:
    assert Combination(Signed()).requirements == (requirement(signed=[]),)
    optional = Signed(is_optional=True)
    assert Combination(optional).requirements == (requirement(signed=[]), requirement())
    # Together with others, or with a scope, nothing is not enough.
    assert requirement() not in Combination(AllOf(KEYS, optional)).requirements
    assert requirement() not in Combination(Scoped(optional, "read")).requirements
