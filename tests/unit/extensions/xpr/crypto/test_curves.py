"""The arithmetic of points, held against that of OpenSSL."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.errors import MalformedError

NAMES: tuple[CurveName, ...] = ("K1", "R1")


@given(st.sampled_from(NAMES), st.integers(1, 2**256 - 2**225))
def test_multiples_of_the_base_are_public_keys(name: CurveName, number: int) -> None:
    curve = CURVES[name]
    number %= curve.order
    expected = ec.derive_private_key(number or 1, curve.kind).public_key().public_numbers()
    assert curve.multiply(number or 1, curve.base) == (expected.x, expected.y)


@pytest.mark.parametrize("name", NAMES)
def test_infinity(name: CurveName) -> None:
    curve = CURVES[name]
    (x, y), base = curve.base, curve.base
    assert curve.add(base, None) == base == curve.add(None, base)
    assert curve.add(base, (x, curve.p - y)) is None
    assert curve.multiply(curve.order, base) is None
    assert curve.multiply(curve.order + 1, base) == base


@pytest.mark.parametrize("name", NAMES)
def test_a_point_is_found_by_its_x(name: CurveName) -> None:
    curve = CURVES[name]
    x, y = curve.base
    assert curve.lift(x, is_odd=bool(y % 2)) == (x, y)
    assert curve.lift(x, is_odd=not y % 2) == (x, curve.p - y)


@pytest.mark.parametrize("name", NAMES)
def test_an_x_without_a_point_is_refused(name: CurveName) -> None:
    curve = CURVES[name]
    found = 0
    for x in range(2, 40):
        try:
            point = curve.lift(x, is_odd=True)
        except MalformedError:
            found += 1
        else:
            y = point[1]
            assert (y * y - x**3 - curve.a * x - curve.b) % curve.p == 0
    assert found
    with pytest.raises(MalformedError):
        curve.lift(curve.base[0] + curve.p, is_odd=True)
