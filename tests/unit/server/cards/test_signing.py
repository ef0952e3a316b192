"""Signing what the card desk hands out."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner, verify_card
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import UsageError
from dragoman.server.cards.signing import CardSigning
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of, new_key

URL = "https://agent.example/base/"


def key_file(folder: Path, name: str, algorithm: str = "ES256") -> Path:
    """Write a private key to a file, and return that."""
    path = folder / name
    path.write_text(json.dumps({**new_key(algorithm), "kid": name}))
    return path


def headers_of(document: bytes) -> list[dict[str, Any]]:
    """Return the protected headers of the signatures."""
    found = json.loads(document)["signatures"]
    return [json.loads(urlsafe_b64decode(one["protected"] + "==")) for one in found]


async def outcome(document: bytes, keys: Sequence[object]) -> tuple[str, str]:
    seen = await verify_card(document, TrustedKeys({"keys": list(keys)}))
    return seen.outcome, seen.kid


async def test_a_card_is_signed_so_that_the_published_keys_verify_it(tmp_path: Path) -> None:
    signing = CardSigning([key_file(tmp_path, "k1")], URL)
    signed = signing.signed(encode_card(FULL))
    assert await outcome(signed, signing.public_keys) == ("verified", "k1")
    changed = signed.replace(b"Planner", b"Plunder")
    assert (await outcome(changed, signing.public_keys))[0] == "unverifiable"


async def test_the_signature_says_where_the_keys_are(tmp_path: Path) -> None:
    signing = CardSigning([key_file(tmp_path, "k1")], URL)
    assert headers_of(signing.signed(encode_card(FULL))) == [
        {
            "alg": "ES256",
            "kid": "k1",
            "typ": "JOSE",
            "jku": "https://agent.example/base/.well-known/jwks.json",
        }
    ]


async def test_where_sdks_read_a_card_otherwise_it_is_signed_for_them_too(tmp_path: Path) -> None:
    # empties are left out by SDKs, and letters that are not ASCII were escaped by older ones.
    signing = CardSigning([key_file(tmp_path, "k1")], URL)
    signed = signing.signed(encode_card(EMPTIES))
    assert len(headers_of(signed)) > 1
    assert await outcome(signed, signing.public_keys) == ("verified", "k1")


async def test_a_card_of_0_3_is_signed_as_it_is(tmp_path: Path) -> None:
    signing = CardSigning([key_file(tmp_path, "k1")], URL)
    signed = signing.signed(document_of(OLD))
    assert await outcome(signed, signing.public_keys) == ("verified", "k1")


async def test_the_first_key_signs_and_all_are_published(tmp_path: Path) -> None:
    keys = [key_file(tmp_path, "new", "EdDSA"), key_file(tmp_path, "old")]
    signing = CardSigning(keys, URL)
    assert await outcome(signing.signed(encode_card(FULL)), signing.public_keys) == (
        "verified",
        "new",
    )
    # What was signed before the change is still good.
    before = CardSigning([keys[1]], URL).signed(encode_card(FULL))
    assert await outcome(before, signing.public_keys) == ("verified", "old")


def test_nothing_private_is_published(tmp_path: Path) -> None:
    keys = [key_file(tmp_path, name, name) for name in ("ES256", "RS256", "EdDSA")]
    for key in CardSigning(keys, URL).public_keys:
        assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & set(key)
        assert key["use"] == "sig"


@pytest.mark.parametrize("public_url", [None, ""])
def test_a_card_for_whatever_address_is_asked_for_is_not_signed(
    tmp_path: Path, public_url: str | None
) -> None:
    with pytest.raises(UsageError, match="say it with --public-url"):
        CardSigning([key_file(tmp_path, "k1")], public_url)


def test_two_keys_of_one_name_are_refused(tmp_path: Path) -> None:
    key = key_file(tmp_path, "k1")
    with pytest.raises(UsageError, match="two of the keys have the same kid"):
        CardSigning([key, key], URL)


def test_a_file_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        CardSigning([tmp_path / "none"], URL)


def test_a_public_key_cannot_sign(tmp_path: Path) -> None:
    (public,) = CardSigner(new_key("ES256")).public_keys["keys"]
    path = tmp_path / "public.json"
    path.write_text(json.dumps(public))
    with pytest.raises(UsageError, match="cannot sign"):
        CardSigning([path], URL)
