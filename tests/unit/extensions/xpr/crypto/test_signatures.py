"""Signatures: made in canonical form, read in no other."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.crypto.ecdsa import Backend, FastBackend, PlainBackend
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.crypto.signatures import (
    Signature,
    is_canonical,
    recover,
    sign,
    signer_among,
)
from dragoman.extensions.xpr.crypto.texts import read_text, write_text
from dragoman.extensions.xpr.errors import MalformedError
from tests.support.chain_double import VECTORS

K1 = PrivateKey.read(VECTORS["keys"][0]["pvt"])
R1 = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
PLAIN, FAST = PlainBackend(), FastBackend()
GOOD: list[dict[str, Any]] = VECTORS["good"]
MALFORMED = [
    bad
    for bad in VECTORS["bad"]
    if bad["expect"]["message"] == "Invalid signature: could not recover public key"
]


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good["id"])
@pytest.mark.parametrize("backend", [PLAIN, None], ids=["plain", "fastest"])
def test_the_key_is_recovered(good: dict[str, Any], backend: Backend | None) -> None:
    signature, digest = Signature.read(good["signature"]), bytes.fromhex(good["signed_hash"])
    expected = PublicKey.read(good["expect"]["recovered"])
    assert recover(signature, digest, backend) == expected
    others = [K1.public, R1.public, PublicKey.read(VECTORS["keys"][2]["pub"])]
    assert signer_among([*others, expected], signature, digest, backend) == expected


@pytest.mark.parametrize("bad", MALFORMED, ids=lambda bad: bad["note"])
def test_what_is_malformed_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(MalformedError):
        Signature.read(bad["signature"])


@given(st.binary(max_size=30), st.sampled_from([(K1, PLAIN), (K1, FAST), (R1, PLAIN)]))
def test_a_signature_is_canonical_and_is_read_as_it_was_made(
    text: bytes, signing: tuple[PrivateKey, Backend]
) -> None:
    (key, backend), digest = signing, sha256(text).digest()
    made = sign(key, digest, backend)
    assert is_canonical(key.curve, made.rs)
    assert Signature.read(made.text) == made
    assert recover(made, digest, backend) == key.public
    assert signer_among([R1.public, K1.public], made, digest) == key.public
    # Recovery bytes as the chain writes them: 31 to 34.
    assert 31 <= read_text(made.text, "SIG", 65)[1][0] <= 34


@given(st.binary(max_size=30), st.sampled_from([K1, R1]))
def test_the_other_form_of_a_signature_is_refused(text: bytes, key: PrivateKey) -> None:
    made = sign(key, sha256(text).digest())
    s = CURVES[key.curve].order - int.from_bytes(made.rs[32:])
    twin = bytes((31 + (made.recovery ^ 1),)) + made.rs[:32] + s.to_bytes(32)
    with pytest.raises(MalformedError, match="canonical"):
        Signature.read(write_text("SIG", key.curve, twin))


@given(st.integers(0, 255))
def test_recovery_bytes_are_27_to_34(byte: int) -> None:
    made = sign(K1, sha256(b"x").digest())
    text = write_text("SIG", "K1", bytes((byte,)) + made.rs)
    if 27 <= byte <= 34:
        assert Signature.read(text).recovery == (byte - 27) & 3
    else:
        with pytest.raises(MalformedError, match="recovery byte"):
            Signature.read(text)


@pytest.mark.parametrize(
    ("curve", "r", "s", "expected"),
    [
        ("K1", 2**254, 2**254, True),
        ("K1", 2**255, 2**254, False),  # the top bit of r
        ("K1", 2**247, 2**247, True),  # a zero byte, then one with its top bit
        ("K1", 2**247 - 1, 2**254, False),
        ("K1", 2**254, 2**247 - 1, False),
        ("R1", 2**255, 1, True),  # R1 asks for a low s alone
        ("R1", 1, CURVES["R1"].order // 2, True),
        ("R1", 1, CURVES["R1"].order // 2 + 1, False),
        ("R1", 0, 1, False),
        ("R1", CURVES["R1"].order, 1, False),
        ("R1", 1, 0, False),
    ],
)
def test_what_is_canonical(curve: CurveName, r: int, s: int, *, expected: bool) -> None:
    assert is_canonical(curve, r.to_bytes(32) + s.to_bytes(32)) is expected


def test_keys_of_the_other_curve_are_passed_over() -> None:
    digest = sha256(b"x").digest()
    assert signer_among([R1.public], sign(K1, digest), digest) is None
    assert signer_among([], sign(K1, digest), digest) is None
