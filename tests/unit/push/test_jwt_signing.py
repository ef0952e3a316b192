import json
from hashlib import sha256

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from dragoman.auth.cards.jws import ALGORITHMS
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.push.jwt_signing import (
    Claims,
    JwtRules,
    check_claims,
    key_name,
    signed_body,
    verified_claims,
)
from tests.support.push.receiving import URL, Sender

NOW = 1_767_225_600
BODY = b'{"task":{}}'
SENDER = Sender()
RULES = JwtRules(audience=URL)
GOOD = Claims(
    iat=NOW, exp=NOW + 60, aud=URL, jti="n-1", task_id="t-1", body_sha256=sha256(BODY).hexdigest()
)


def changed(**members: object) -> Claims:
    return msgspec.structs.replace(GOOD, **members)


def test_what_is_signed_is_what_is_read() -> None:
    token = SENDER.jwt(BODY, now_ms=NOW * 1000 + 999, issuer="https://agent.example")
    assert key_name(token, ALGORITHMS) == "k-1"
    claims = verified_claims(token, (Sender().key, SENDER.key), ALGORITHMS)
    assert claims == Claims(
        iat=NOW,
        exp=NOW + 120,
        iss="https://agent.example",
        aud=URL,
        jti="n-1",
        task_id="t-1",
        body_sha256=sha256(BODY).hexdigest(),
    )
    check_claims(claims, RULES, NOW * 1000)
    assert signed_body(claims, BODY) is BODY


def test_the_header_says_how_it_is_signed() -> None:
    token = jwt.decode(SENDER.jwt(BODY, now_ms=0), SENDER.key, algorithms=["ES256"])
    assert token.header == {"typ": "JWT", "alg": "ES256", "kid": "k-1"}
    assert set(token.claims) == {"iat", "exp", "aud", "jti", "taskId", "request_body_sha256"}


@pytest.mark.parametrize(
    ("token", "finding"),
    [
        ("opaque", "three parts"),
        ("a.b.c.d", "three parts"),
        (f"{'a' * 9000}.b.c", "three parts"),
        ("e30.e30.e30", "no alg and kid"),
        ("!.e30.e30", "base64url"),
    ],
)
def test_what_is_no_jwt_is_refused(token: str, finding: str) -> None:
    with pytest.raises(UnauthenticatedError, match=finding):
        key_name(token, ALGORITHMS)


def test_an_algorithm_must_be_allowed() -> None:
    key = RSAKey.generate_key(2048)
    token = jwt.encode({"alg": "RS256", "kid": "r"}, {"iat": NOW}, key, algorithms=["RS256"])
    assert key_name(token, ALGORITHMS) == "r"
    with pytest.raises(UnauthenticatedError, match="signed with RS256, not accepted"):
        key_name(token, {"ES256"})


def test_a_shared_secret_is_no_key() -> None:
    # The public key as the secret: the oldest trick of all.
    secret = OctKey.import_key(json.dumps(SENDER.jwks).encode())
    token = jwt.encode({"alg": "HS256", "kid": "k-1"}, {"iat": NOW}, secret, algorithms=["HS256"])
    with pytest.raises(UnauthenticatedError, match="'HS256' is not accepted"):
        key_name(token, ALGORITHMS)
    with pytest.raises(UnauthenticatedError, match="not signed with a key"):
        verified_claims(token, (SENDER.key,), ALGORITHMS)


def test_another_key_has_not_signed_it() -> None:
    token = Sender().jwt(BODY, now_ms=NOW * 1000)
    with pytest.raises(UnauthenticatedError, match="not signed with a key of the sender"):
        verified_claims(token, (SENDER.key,), ALGORITHMS)


@pytest.mark.parametrize("claims", [{}, {"iat": "now"}, {"iat": -1}, {"iat": NOW, "aud": 1}])
def test_a_claim_of_the_wrong_type_is_told(claims: dict[str, object]) -> None:
    token = jwt.encode({"alg": "ES256", "kid": "k-1"}, claims, SENDER.key, algorithms=["ES256"])
    with pytest.raises(UnauthenticatedError, match="has a wrong claim"):
        verified_claims(token, (SENDER.key,), ALGORITHMS)


@pytest.mark.parametrize(
    ("claims", "finding"),
    [
        (changed(exp=None), "lacks the claim exp"),
        (changed(aud=""), "lacks the claim aud"),
        (changed(jti=""), "lacks the claim jti"),
        (changed(task_id=""), "lacks the claim taskId"),
        (changed(body_sha256=""), "lacks the claim request_body_sha256"),
        (changed(iat=NOW + 31), "in the future"),
        (changed(nbf=NOW + 31), "in the future"),
        (changed(exp=NOW - 30), "has expired"),
        (changed(iat=NOW - 331, exp=NOW + 999), "too old"),
    ],
)
@pytest.mark.requirement("R-T.str-11")
def test_what_is_missing_or_out_of_time_is_refused(claims: Claims, finding: str) -> None:
    with pytest.raises(UnauthenticatedError, match=finding):
        check_claims(claims, RULES, NOW * 1000)


@pytest.mark.parametrize(
    "claims",
    [
        changed(iat=NOW + 30),
        changed(exp=NOW - 29),
        changed(iat=NOW - 330),
        changed(aud=("https://other.example", URL)),
    ],
)
def test_clocks_may_differ_a_little(claims: Claims) -> None:
    check_claims(claims, RULES, NOW * 1000)


@pytest.mark.parametrize("audience", ["https://other.example", (), f"{URL}/"])
def test_a_jwt_for_somebody_else_is_refused(audience: str | tuple[str, ...]) -> None:
    rules = JwtRules(audience=URL, required=())
    with pytest.raises(PermissionDeniedError, match=f"is not for {URL}"):
        check_claims(changed(aud=audience), rules, NOW * 1000)


def test_what_is_not_required_may_be_missing() -> None:
    rules = JwtRules(audience=URL, required=("request_body_sha256",))
    check_claims(Claims(iat=NOW, body_sha256="00"), rules, NOW * 1000)


def test_a_jwt_is_for_one_body() -> None:
    with pytest.raises(PermissionDeniedError, match="for another body"):
        signed_body(GOOD, b'{"task":{"id":"x"}}')
    with pytest.raises(PermissionDeniedError, match="for another body"):
        signed_body(GOOD, b"no JSON")
    assert signed_body(changed(body_sha256=""), b"anything") == b"anything"


def test_the_reference_of_0_1_signs_the_json_without_spaces() -> None:
    compact = '{"id":"t-1","note":"Grüße"}'.encode()
    claims = Claims(iat=NOW, body_sha256=sha256(compact).hexdigest().upper())
    assert signed_body(claims, compact) == compact
    # It may be sent in another spelling; what is read then is what was signed.
    assert signed_body(claims, b'{ "id": "t-1", "note": "Gr\\u00fc\\u00dfe" }') == compact
    with pytest.raises(PermissionDeniedError):
        signed_body(claims, b'{"id":"t-1","note":"Gr\\ud800"}')
