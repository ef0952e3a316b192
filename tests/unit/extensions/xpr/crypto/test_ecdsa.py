"""The two ways to compute signatures, held against each other."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto import ecdsa
from dragoman.extensions.xpr.crypto.curves import CURVES
from dragoman.extensions.xpr.crypto.ecdsa import Backend, FastBackend, PlainBackend, backend_for
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.errors import MalformedError
from tests.support.chain_double import VECTORS

KEY = PrivateKey.read(VECTORS["keys"][0]["wif"])
OTHER = PrivateKey.read(VECTORS["keys"][1]["wif"])
PLAIN, FAST = PlainBackend(), FastBackend()
BACKENDS = pytest.mark.parametrize("backend", [PLAIN, FAST], ids=["plain", "fast"])


@given(st.binary(max_size=40), st.integers(0, 5))
def test_what_one_signs_the_other_verifies_and_recovers(text: bytes, attempt: int) -> None:
    digest = sha256(text).digest()
    for signs, reads in ((PLAIN, FAST), (FAST, PLAIN)):
        rs, recovery = signs.sign(KEY, digest, attempt)
        assert reads.verifies(KEY.public, rs, digest)
        assert not reads.verifies(OTHER.public, rs, digest)
        assert not reads.verifies(KEY.public, rs, sha256(digest).digest())
        assert reads.recover("K1", rs, recovery, digest) == KEY.public
        assert int.from_bytes(rs[32:]) <= CURVES["K1"].order // 2


@given(st.binary(min_size=64, max_size=64), st.integers(0, 3), st.binary(min_size=32, max_size=32))
def test_both_say_the_same_of_anything(rs: bytes, recovery: int, digest: bytes) -> None:
    assert not FAST.verifies(KEY.public, rs, digest)
    assert not PLAIN.verifies(KEY.public, rs, digest)
    found: list[str] = []
    for backend in (PLAIN, FAST):
        try:
            found.append(backend.recover("K1", rs, recovery, digest).text)
        except MalformedError:
            found.append("none")
    assert found[0] == found[1]


@BACKENDS
@pytest.mark.parametrize("r", [0, CURVES["K1"].order, 2**256 - 1])
def test_numbers_out_of_range_are_no_signature(backend: Backend, r: int) -> None:
    digest = sha256(b"").digest()
    for rs in (r.to_bytes(32) + b"\1" * 32, b"\1" * 32 + r.to_bytes(32)):
        assert not backend.verifies(KEY.public, rs, digest)
        with pytest.raises(MalformedError):
            backend.recover("K1", rs, 0, digest)


def test_every_attempt_has_its_own_nonce() -> None:
    digest = sha256(b"again").digest()
    assert FAST.sign(KEY, digest, 0) == FAST.sign(KEY, digest, 0)
    assert len({FAST.sign(KEY, digest, attempt)[0] for attempt in range(5)}) == 5
    assert PLAIN.sign(KEY, digest, 0) != PLAIN.sign(KEY, digest, 0)


def test_the_fastest_is_chosen_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(backend_for("K1"), FastBackend)
    assert isinstance(backend_for("R1"), PlainBackend)
    monkeypatch.setattr(ecdsa, "has_fast_backend", lambda: False)
    assert isinstance(backend_for("K1"), PlainBackend)


@BACKENDS
def test_what_is_too_short_or_too_long_is_no_signature(backend: Backend) -> None:
    digest = sha256(b"x").digest()
    rs, _ = backend.sign(KEY, digest, 0)
    assert backend.verifies(KEY.public, rs, digest)
    for other in (b"", rs[:-1], rs[:32], rs + b"\0"):
        assert not backend.verifies(KEY.public, other, digest)
    for other in (b"", digest[:-1], digest + b"\0"):
        assert not backend.verifies(KEY.public, rs, other)
