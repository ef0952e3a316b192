import pytest

from dragoman.auth.incoming.access_tokens import (
    Claims,
    Header,
    TokenRules,
    check_claims,
    claims_of,
    read_header,
    read_issuer,
    texts_in,
    verified_claims,
)
from dragoman.auth.incoming.authenticator import BadCredentialsError
from dragoman.auth.shared.key_sets import read_key
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import Issuer, packed

RULES = TokenRules(issuer="https://id.example", audiences=frozenset({"us"}))
ISSUER = Issuer(FakeClock())


def test_a_header_is_read_without_any_trust() -> None:
    token = ISSUER.token(header={"kid": "k", "typ": "JWT", "jku": "https://evil.example"})
    assert read_header(token, RULES) == Header("ES256", "k", "JWT")
    assert read_issuer(token) == "https://id.example"


def test_what_a_token_says_counts_once_its_signature_does() -> None:
    [public] = ISSUER.public_keys
    key, other = read_key(public), read_key(Issuer(FakeClock()).public_keys[0])
    token = ISSUER.token(sub="alice")
    assert verified_claims(token, (other, key), "ES256")["sub"] == "alice"
    for keys in ((), (other,)):
        with pytest.raises(BadCredentialsError, match="not signed with a key of the issuer"):
            verified_claims(token, keys, "ES256")


def test_a_payload_that_could_be_written_otherwise_is_not_what_was_signed() -> None:
    [public] = ISSUER.public_keys
    head, claims, signature = ISSUER.token(sub="a").split(".")
    assert len(claims) % 4 != 0
    # The last letter has bits that decode to nothing.
    changed = chr(ord(claims[-1]) + 1)
    with pytest.raises(BadCredentialsError):
        verified_claims(f"{head}.{claims[:-1]}{changed}.{signature}", (read_key(public),), "ES256")


@pytest.mark.parametrize("token", ["a.b", "a.b.", "a..c", "a.b.c.d", "a.b=.c", "a.b.c\n", "a. b.c"])
def test_a_token_has_three_parts_and_nothing_else(token: str) -> None:
    with pytest.raises(BadCredentialsError, match="three parts"):
        read_header(token, RULES)


def test_a_part_that_is_no_base64_is_refused() -> None:
    # One letter of base64 is less than a byte.
    with pytest.raises(BadCredentialsError, match="base64url"):
        read_header("a.b.c", RULES)
    with pytest.raises(BadCredentialsError, match="base64url"):
        read_issuer(f"{packed({})}.abcde.AA")


def test_a_token_that_says_nothing_says_it() -> None:
    assert claims_of({}) == Claims()
    with pytest.raises(BadCredentialsError, match="from the issuer ''"):
        check_claims(Claims(), RULES, 0)


def test_issuer_and_audience_are_not_looked_at_when_nobody_asks() -> None:
    check_claims(Claims(exp=1), TokenRules(issuer="", audiences=frozenset()), 0)


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        ({"scope": "a b  c"}, {"a", "b", "c"}),
        ({"scope": ["a b", "c", 1, None]}, {"a b", "c"}),
        ({"scope": "a", "scp": ["b"]}, {"a", "b"}),
        ({"scope": ""}, set[str]()),
        ({"scope": {"a": 1}, "scp": 7}, set[str]()),
        ({}, set[str]()),
    ],
)
def test_scopes_are_one_text_or_several(claims: dict[str, object], found: set[str]) -> None:
    assert texts_in(claims, ("scope", "scp")) == found


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS384", "HS512", "RSA1_5", ""])
def test_no_rules_allow_what_anybody_can_sign(algorithm: str) -> None:
    with pytest.raises(UsageError, match="algorithms must be among"):
        TokenRules(issuer="i", audiences=frozenset(), algorithms=frozenset({"ES256", algorithm}))
