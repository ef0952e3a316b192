"""Whatever stands in the headers of a signed request: refused, never another error, little work.

``make soak`` tries a hundred thousand of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from dragoman.auth.incoming.authenticator import Evidence
from dragoman.errors import UnauthenticatedError
from dragoman.extensions.xpr.auth import XprAuth
from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.crypto.texts import write_text
from dragoman.extensions.xpr.signing import sign_request
from dragoman.extensions.xpr.trust import TrustFacts, TrustPolicy
from dragoman.testing.chain import FakeChain
from dragoman.testing.clock import FakeClock
from tests.support.chain_double import ANYONE, VECTORS

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
SIGNATURES: Final = 100_000 if IS_SOAK else 3_000
BODY: Final = b'{"jsonrpc":"2.0","id":1,"method":"message/send"}'
WORDS: Final = {"Authentication required", "Invalid signature", "Signature verification failed"}
ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
KEY: Final = PrivateKey.read(VECTORS["keys"][0]["wif"])

pytestmark = pytest.mark.timeout(600 if IS_SOAK else 60)


class Counted(FakeChain):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__({"alice": KEY.public.text})
        self.asked = 0

    async def authority(self, account: str, *, is_renewed: bool = False) -> Authority | None:
        self.asked += 1
        return await super().authority(account, is_renewed=is_renewed)

    async def trust_facts(self, account: str, policy: TrustPolicy) -> TrustFacts:
        raise AssertionError("nobody who is not known is asked for")


# --- ways to spoil a signature --------------------------------------------------------------------


def letter_changed(good: str, chance: Random) -> str:
    place = chance.randrange(len(good))
    others = [letter for letter in ALPHABET + "0OIl _\n\0é" if letter != good[place]]
    return good[:place] + chance.choice(others) + good[place + 1 :]


def cut(good: str, chance: Random) -> str:
    return good[: chance.randrange(len(good))]


def lengthened(good: str, chance: Random) -> str:
    return good + "".join(chance.choices(ALPHABET, k=chance.choice([1, 2, 100, 20_000])))


def made_up(good: str, chance: Random) -> str:
    """Return r and s out of the blue, in a form whose checksum is right."""
    del good
    payload = bytes((chance.randrange(256),)) + chance.randbytes(64)
    return write_text("SIG", chance.choice(["K1", "R1"]), payload)


def plausible(good: str, chance: Random) -> str:
    """Return r and s that pass all checks but the last one."""
    del good
    r, s = (chance.randrange(2**250, 2**254).to_bytes(32) for _ in range(2))
    return write_text("SIG", "K1", bytes((31 + chance.randrange(4),)) + r + s)


def noise(good: str, chance: Random) -> str:
    return "".join(chr(chance.randrange(1, 0x2000)) for _ in range(chance.randrange(len(good))))


SPOILERS: Final[tuple[Callable[[str, Random], str], ...]] = (
    letter_changed,
    cut,
    lengthened,
    made_up,
    plausible,
    noise,
)


async def test_no_spoiled_signature_gets_in() -> None:
    clock, chain, chance = FakeClock(), Counted(), Random(10)  # noqa: S311 - to be repeated
    auth = XprAuth(chain, trust=ANYONE, clock=clock, rate_limit=10)
    headers = sign_request(KEY, "alice", clock.now_ms() // 1000, BODY)
    reads = 0

    async def read() -> bytes:
        nonlocal reads
        reads += 1
        return BODY

    passed_on = 0
    for number in range(SIGNATURES):
        spoil = SPOILERS[number % len(SPOILERS)]
        shown = {name.lower().encode(): value for name, value in headers.items()}
        spoiled = spoil(headers["X-XPR-Signature"], chance)
        shown[b"x-xpr-signature"] = spoiled
        reads_before, asked_before = reads, chain.asked
        with pytest.raises(UnauthenticatedError) as caught:
            await auth.authenticate(Evidence(headers=shown, body=read))
        assert caught.value.message.split(":")[0] in WORDS, spoiled
        passed_on += reads > reads_before
        assert chain.asked - asked_before <= 2
    # What is malformed is refused before a body is read or the chain is asked.
    assert chain.asked <= 2 * passed_on
    assert 0 < passed_on < SIGNATURES / 2
    # The good one was neither used up nor kept out by all of these.
    shown = {name.lower().encode(): value for name, value in headers.items()}
    found = await auth.authenticate(Evidence(headers=shown, body=read))
    assert found is not None
    assert found.owner == "xpr:alice"
