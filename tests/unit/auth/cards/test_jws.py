import json
from base64 import urlsafe_b64encode

import pytest
from joserfc.errors import JoseError

from dragoman.auth.cards.jws import (
    ALGORITHMS,
    BadSignatureError,
    Jws,
    is_signed_with,
    read_jws,
    sign,
)
from dragoman.auth.shared.key_sets import read_key
from dragoman.model.cards import AgentCardSignature
from tests.support.auth.signing_cards import new_key

PAYLOAD = b'{"name":"a"}'


def packed(header: object) -> str:
    return urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip("=")


def unpadded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def read(header: object, signature: str = "AA") -> Jws:
    return read_jws(AgentCardSignature(protected=packed(header), signature=signature))


@pytest.mark.requirement("R-8.4.2-1", "R-8.4.2-2", "R-8.4.2-3", "R-8.4.2-4")
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_what_is_signed_is_verified(algorithm: str) -> None:
    key = read_key(new_key(algorithm))
    jws = read_jws(sign(PAYLOAD, key, algorithm, kid="k", jku="https://a.example/jwks"))
    assert (jws.algorithm, jws.kid, jws.jku) == (algorithm, "k", "https://a.example/jwks")
    assert is_signed_with(jws, PAYLOAD, key)
    assert not is_signed_with(jws, PAYLOAD + b" ", key)
    assert not is_signed_with(jws, PAYLOAD, read_key(new_key(algorithm)))


@pytest.mark.requirement("R-8.4.2-3", "R-8.4.2-6")
def test_a_signature_is_written_without_padding_and_says_what_it_is() -> None:
    signature = sign(PAYLOAD, read_key(new_key("ES256")), "ES256", kid="k")
    assert signature.protected == unpadded(b'{"alg":"ES256","kid":"k","typ":"JOSE"}')
    assert "=" not in signature.signature
    # R and S of 32 bytes each.
    assert len(signature.signature) == 86
    assert signature.header is None


@pytest.mark.requirement("R-8.4.2-5")
def test_the_examples_of_the_standards_are_verified() -> None:
    # RFC 7515, A.3.
    key = read_key(
        {
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        }
    )
    payload = b'{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}'
    signature = (
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    )
    assert is_signed_with(as_jws("ES256", "eyJhbGciOiJFUzI1NiJ9", signature), payload, key)
    # RFC 8037, A.4.
    key = read_key(
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    )
    signature = (
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    )
    jws = as_jws("EdDSA", "eyJhbGciOiJFZERTQSJ9", signature)
    assert is_signed_with(jws, b"Example of Ed25519 signing", key)


def as_jws(algorithm: str, protected: str, signature: str) -> Jws:
    # Read with a header that has a kid, which these examples lack.
    read_one = read({"alg": algorithm, "kid": "k"}, signature)
    return Jws(algorithm, "k", "", protected, read_one.signature)


@pytest.mark.parametrize(
    ("header", "finding"),
    [
        ({"kid": "k"}, "no alg and kid"),
        ({"alg": "ES256"}, "no alg and kid"),
        ({"alg": "ES256", "kid": 1}, "no alg and kid"),
        ({"alg": "ES256", "kid": "k", "jku": 1}, "no alg and kid"),
        ("text", "no alg and kid"),
        ({"alg": "none", "kid": "k"}, "'none' is not accepted"),
        ({"alg": "HS256", "kid": "k"}, "'HS256' is not accepted"),
        ({"alg": "ES256K", "kid": "k"}, "'ES256K' is not accepted"),
        ({"alg": "ES256", "kid": "k", "crit": ["b64"], "b64": False}, "critical extensions"),
        ({"alg": "ES256", "kid": "k", "crit": None}, "critical extensions"),
    ],
)
def test_a_header_that_is_not_accepted_is_told(header: object, finding: str) -> None:
    with pytest.raises(BadSignatureError, match=finding):
        read(header)


@pytest.mark.parametrize("text", ["a+b/", "a.b", "\N{EURO SIGN}", "A", "AAAA AAAA"])
def test_what_is_not_base64url_is_told(text: str) -> None:
    with pytest.raises(BadSignatureError, match="base64url"):
        read({"alg": "ES256", "kid": "k"}, text)
    with pytest.raises(BadSignatureError):
        read_jws(AgentCardSignature(protected=text, signature="AA"))


def test_the_header_that_is_not_protected_has_no_say() -> None:
    signature = AgentCardSignature(
        protected=packed({"alg": "ES256", "kid": "k"}),
        signature="AA",
        header={"alg": "none", "kid": "other", "jku": "https://evil.example", "crit": ["x"]},
    )
    assert read_jws(signature) == read({"alg": "ES256", "kid": "k"})


def test_members_of_a_header_that_nobody_knows_do_not_matter() -> None:
    assert read({"alg": "ES256", "kid": "k", "iat": 1, "x": {}}).kid == "k"


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [("ES256", "RS256"), ("RS256", "ES256"), ("ES256", "ES384"), ("EdDSA", "ES256")],
)
def test_a_key_of_another_kind_verifies_nothing(algorithm: str, key: str) -> None:
    jws = read_jws(sign(PAYLOAD, read_key(new_key(algorithm)), algorithm, kid="k"))
    assert not is_signed_with(jws, PAYLOAD, read_key(new_key(key)))
    with pytest.raises(JoseError):
        sign(PAYLOAD, read_key(new_key(key)), algorithm, kid="k")


def test_a_key_that_is_for_something_else_verifies_nothing() -> None:
    private = new_key("ES256")
    jws = read_jws(sign(PAYLOAD, read_key(private), "ES256", kid="k"))
    for change in ({"use": "enc"}, {"alg": "ES384"}, {"key_ops": ["sign"]}):
        assert not is_signed_with(jws, PAYLOAD, read_key({**private, **change}))
