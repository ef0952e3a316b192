"""The two curves that keys are on: K1 is secp256k1, R1 is NIST P-256.

The arithmetic of points is for what is public alone: it takes longer for some numbers than for
others, so no secret goes through it.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Struct

from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("CURVES", "Curve", "CurveName", "Point")

CurveName: TypeAlias = Literal["K1", "R1"]
Point: TypeAlias = tuple[int, int] | None
"""Affine coordinates; None is the point at infinity."""


class Curve(Struct, frozen=True, kw_only=True):
    """A curve y² = x³ + ax + b modulo a prime p, with p ≡ 3 (mod 4).

    Attributes:
        order: the number of points, a prime.
        base: the point that keys are multiples of.
    """

    p: int
    a: int
    b: int
    order: int
    base: tuple[int, int]
    kind: ec.EllipticCurve

    def lift(self, x: int, *, is_odd: bool) -> tuple[int, int]:
        """Return the point with this x and a y that is odd or even.

        Raises:
            MalformedError: there is none.
        """
        square = (pow(x, 3, self.p) + self.a * x + self.b) % self.p
        y = pow(square, (self.p + 1) // 4, self.p)
        if not 0 <= x < self.p or y * y % self.p != square:
            raise MalformedError("there is no such point on the curve")
        return (x, y) if y % 2 == is_odd else (x, self.p - y)

    def add(self, one: Point, other: Point) -> Point:
        """Return the sum of two points."""
        if one is None or other is None:
            return one or other
        (x1, y1), (x2, y2), p = one, other, self.p
        if x1 == x2:
            if (y1 + y2) % p == 0:
                return None
            slope = (3 * x1 * x1 + self.a) * pow(2 * y1, -1, p)
        else:
            slope = (y2 - y1) * pow(x2 - x1, -1, p)
        x = (slope * slope - x1 - x2) % p
        return x, (slope * (x1 - x) - y1) % p

    def multiply(self, factor: int, point: Point) -> Point:
        """Return a multiple of a point."""
        total: Point = None
        while factor:
            if factor & 1:
                total = self.add(total, point)
            point = self.add(point, point)
            factor >>= 1
        return total


CURVES: Final[dict[CurveName, Curve]] = {
    "K1": Curve(
        p=2**256 - 2**32 - 977,
        a=0,
        b=7,
        order=0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
        base=(
            0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
            0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
        ),
        kind=ec.SECP256K1(),
    ),
    "R1": Curve(
        p=2**256 - 2**224 + 2**192 + 2**96 - 1,
        a=-3,
        b=0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        order=0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        base=(
            0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
            0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
        ),
        kind=ec.SECP256R1(),
    ),
}
