"""Signed requests: all that was recorded, good and bad, byte for byte."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.errors import SignatureRefusedError
from dragoman.extensions.xpr.signing import check_signer, digest_of, read_claim, sign_request
from tests.support.chain_double import VECTORS

GOOD: list[dict[str, Any]] = VECTORS["good"]
BAD: list[dict[str, Any]] = VECTORS["bad"]
KEY = PrivateKey.read(VECTORS["keys"][0]["wif"])
AUTHORITY = Authority(1, ((KEY.public, 1),))
NOW = 1_704_067_200


def shown(headers: Mapping[str, str]) -> dict[bytes, str]:
    return {name.lower().encode(): value for name, value in headers.items()}


def headers_of(vector: dict[str, Any]) -> dict[bytes, str]:
    return {
        b"x-xpr-account": vector["account"],
        b"x-xpr-timestamp": vector["timestamp_header"],
        b"x-xpr-signature": vector["signature"],
    }


def authority_of(vector: dict[str, Any]) -> Authority:
    active = vector["chain_active"]
    keys = tuple((PublicKey.read(one["key"]), one["weight"]) for one in active["keys"])
    return Authority(active["threshold"], keys)


def verify(vector: dict[str, Any], *, honours_weights: bool = True) -> PublicKey:
    claim = read_claim(headers_of(vector), vector["now"])
    digest = claim.digest(vector["body"].encode())
    return check_signer(claim, digest, authority_of(vector), honours_weights=honours_weights)


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good["id"])
def test_good_requests(good: dict[str, Any]) -> None:
    assert verify(good).text == good["expect"]["recovered"]
    body = good["body"].encode()
    assert sha256(body).hexdigest() == good["body_sha256"]
    digest = digest_of(good["account"], good["timestamp"], body)
    assert digest.hex() == good["digest"]
    assert sha256(digest).hexdigest() == good["signed_hash"]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad['id']} {bad['note']}")
def test_bad_requests_are_refused_with_the_words_of_the_network(bad: dict[str, Any]) -> None:
    with pytest.raises(SignatureRefusedError) as caught:
        verify(bad)
    assert str(caught.value) == bad["expect"]["message"]


def test_weights_can_be_left_out_of_it() -> None:
    light = next(bad for bad in BAD if bad["id"] == "b22")
    assert verify(light, honours_weights=False).text == light["pub"]


@given(st.binary(max_size=200), st.integers(0, 10**12 - 1), st.sampled_from([0, 4]))
def test_what_was_signed_is_verified(body: bytes, timestamp: int, number: int) -> None:
    key = PrivateKey.read(VECTORS["keys"][number]["pvt"])
    claim = read_claim(shown(sign_request(key, "alice", timestamp, body)), timestamp)
    authority = Authority(1, ((key.public, 1),))
    assert check_signer(claim, claim.digest(body), authority) == key.public
    with pytest.raises(SignatureRefusedError, match="does not match"):
        check_signer(claim, claim.digest(body + b" "), authority)


@pytest.mark.parametrize("missing", ["X-XPR-Account", "X-XPR-Timestamp", "X-XPR-Signature"])
def test_all_three_headers_are_needed(missing: str) -> None:
    headers = sign_request(KEY, "alice", NOW, b"{}")
    for changed in ({**headers, missing: ""}, {k: v for k, v in headers.items() if k != missing}):
        with pytest.raises(SignatureRefusedError, match="headers are required"):
            read_claim(shown(changed), NOW)


@pytest.mark.parametrize(
    "stated",
    ["17040672000000", "+1704067200", "-1", "1e9", "0x5", "1 ", " 1", "1704067200, 1", "١٢٣", "²"],
)
def test_a_timestamp_is_digits_alone(stated: str) -> None:
    headers = {**sign_request(KEY, "alice", NOW, b"{}"), "X-XPR-Timestamp": stated}
    with pytest.raises(SignatureRefusedError, match="must be a Unix timestamp"):
        read_claim(shown(headers), NOW)


@pytest.mark.parametrize("account", ["Alice", "alice.", "a" * 13, "alice, bob", "alice\n"])
def test_an_account_that_cannot_be_is_refused_before_anybody_is_asked(account: str) -> None:
    with pytest.raises(SignatureRefusedError, match="not the name of an account"):
        read_claim(shown(sign_request(KEY, account, NOW, b"{}")), NOW)


def test_an_account_without_the_permission() -> None:
    claim = read_claim(shown(sign_request(KEY, "alice", NOW, b"{}")), NOW)
    with pytest.raises(SignatureRefusedError, match="Account 'alice' has no active permission"):
        check_signer(claim, claim.digest(b"{}"), None)


def test_no_more_keys_are_tried_than_people_have() -> None:
    claim = read_claim(shown(sign_request(KEY, "alice", NOW, b"{}")), NOW)
    others = tuple((PrivateKey("K1", n.to_bytes(32)).public, 1) for n in range(1, 33))
    digest = claim.digest(b"{}")
    assert check_signer(claim, digest, Authority(1, (*others[:31], (KEY.public, 1)))) == KEY.public
    with pytest.raises(SignatureRefusedError):
        check_signer(claim, digest, Authority(1, (*others, (KEY.public, 1))))
    # Keys that could not sign alone do not count.
    light = tuple((key, 0) for key, _ in others)
    assert check_signer(claim, digest, Authority(1, (*light, (KEY.public, 1)))) == KEY.public


def test_the_authority_of_an_account_is_its_own() -> None:
    claim = read_claim(shown(sign_request(KEY, "alice", NOW, b"{}")), NOW)
    assert check_signer(claim, claim.digest(b"{}"), AUTHORITY) == KEY.public
