"""Keys in all their forms; the pairs are those of the network's own library."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.crypto.texts import write_text
from dragoman.extensions.xpr.errors import MalformedError
from tests.support.chain_double import VECTORS

CURVE: st.SearchStrategy[CurveName] = st.sampled_from(("K1", "R1"))


@pytest.mark.parametrize("pair", VECTORS["keys"], ids=lambda pair: pair["pub"][:12])
def test_the_pairs_of_the_network(pair: dict[str, Any]) -> None:
    key = PrivateKey.read(pair["pvt"])
    assert (key.curve, key.secret.hex()) == (pair["type"], pair["secret_hex"])
    assert key.text == pair["pvt"]
    assert key.public.text == str(key.public) == pair["pub"]
    assert PublicKey.read(pair["pub"]) == key.public
    if pair["wif"]:
        assert PrivateKey.read(pair["wif"]) == key
        assert key.wif == pair["wif"]
        assert PublicKey.read(pair["pub_legacy"]) == key.public
        assert key.public.legacy_text == pair["pub_legacy"]
    else:
        # Keys of R1 have one form alone.
        assert key.wif == key.text
        assert key.public.legacy_text == key.public.text


@pytest.mark.parametrize("bad", VECTORS["bad_keys"], ids=lambda bad: bad["why"])
def test_keys_that_are_none(bad: dict[str, str]) -> None:
    read, text = (
        (PrivateKey.read, bad["private"]) if "private" in bad else (PublicKey.read, bad["public"])
    )
    with pytest.raises(MalformedError) as caught:
        read(text)
    assert text not in str(caught.value)


@given(CURVE, st.integers(1, 2**256 - 2**225))
def test_what_was_written_is_read(curve: CurveName, number: int) -> None:
    key = PrivateKey(curve, (number % (CURVES[curve].order - 1) + 1).to_bytes(32))
    assert PrivateKey.read(key.text) == key == PrivateKey.read(key.wif)
    assert PublicKey.read(key.public.text) == key.public == PublicKey.read(key.public.legacy_text)


@given(st.one_of(st.text(max_size=80), st.text("PVTUBEOSK1R_5abc", max_size=60)))
def test_whatever_comes_there_is_one_error(text: str) -> None:
    for read in (PrivateKey.read, PublicKey.read):
        with pytest.raises(MalformedError):
            read(text)


@pytest.mark.parametrize("curve", ["K1", "R1"])
def test_numbers_out_of_range_are_no_keys(curve: CurveName) -> None:
    order = CURVES[curve].order
    for number in (0, order, order + 1, 2**256 - 1):
        with pytest.raises(MalformedError, match="no private key"):
            PrivateKey.read(write_text("PVT", curve, number.to_bytes(32)))


@pytest.mark.parametrize("point", [b"\0" * 33, b"\2" + b"\xff" * 32, b"\4" + b"\1" * 32])
def test_points_beside_the_curve_are_no_keys(point: bytes) -> None:
    with pytest.raises(MalformedError, match="no such point"):
        PublicKey.read(write_text("PUB", "K1", point))


def test_a_private_key_does_not_show_itself() -> None:
    pair = VECTORS["keys"][0]
    key = PrivateKey.read(pair["wif"])
    for shown in (repr(key), str(key), f"{key}", repr([key])):
        assert "PrivateKey(K1)" in shown
        assert pair["secret_hex"] not in shown
        assert str(key.secret) not in shown
