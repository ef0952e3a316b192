import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dragoman.bus.nats.nkeys import NKey, read_credentials, read_seed
from tests.support.nats_keys import credentials, make_seed

SEED = make_seed("user", bytes(range(32)))


def test_a_key_is_known_by_its_public_half() -> None:
    key = NKey(SEED)
    assert SEED.startswith("SU")
    assert key.public.startswith("U")
    assert len(key.public) == 56


def test_a_signature_can_be_checked_with_the_public_key() -> None:
    key = NKey(SEED)
    raw = base64.b32decode(key.public)[1:-2]
    signature = base64.b64decode(key.sign("a nonce"))
    Ed25519PublicKey.from_public_bytes(raw).verify(signature, b"a nonce")


@pytest.mark.parametrize("text", [SEED, f"\n{SEED}\n", credentials("a.b.c", SEED)])
def test_a_seed_is_read_plain_or_armoured(text: str) -> None:
    assert read_seed(text).public == NKey(SEED).public


def test_credentials_hold_a_token_and_its_key() -> None:
    token, key = read_credentials(credentials("a.b.c", SEED))
    assert token == "a.b.c"  # noqa: S105 - no secret
    assert key.public == NKey(SEED).public


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (SEED, "NATS USER JWT"),
        (credentials("a.b.c", SEED).partition("*****")[0], "USER NKEY SEED"),
    ],
)
def test_credentials_without_one_of_both_are_refused(text: str, missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        read_credentials(text)


@pytest.mark.parametrize(
    "seed",
    [
        "",
        "SU",
        SEED[:-1],
        # One character of the checksum, one of the key.
        SEED[:-1] + ("A" if SEED[-1] != "A" else "B"),
        SEED[:20] + ("A" if SEED[20] != "A" else "B") + SEED[21:],
        SEED.lower(),
        "not base32!",
    ],
)
def test_what_is_no_seed_is_refused_without_being_repeated(seed: str) -> None:
    with pytest.raises(ValueError, match="no NKey seed") as caught:
        NKey(seed)
    assert not seed or seed not in str(caught.value)


@pytest.mark.parametrize("kind", ["account", "operator"])
def test_the_seed_of_another_kind_of_key_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="begins with SU"):
        NKey(make_seed(kind, bytes(32)))
