import json
from pathlib import Path

import pytest
from hypothesis import given
from joserfc.jwk import ECKey, OKPKey, RSAKey

from dragoman.auth.cards.forms import payloads_of
from dragoman.auth.cards.jws import ALGORITHMS, sign
from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner, Verification, verify_card
from dragoman.auth.shared.key_sets import read_key
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import A2AError, UsageError
from dragoman.model.cards import AgentCard, AgentCardSignature
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of, new_key
from tests.support.strategies import agent_cards

PRIVATE = new_key("ES256")
SIGNER = CardSigner(PRIVATE)
KEYS = TrustedKeys(SIGNER.public_keys)


def with_signatures(card: bytes, *signatures: AgentCardSignature) -> bytes:
    members = [{"protected": one.protected, "signature": one.signature} for one in signatures]
    return document_of({**json.loads(card), "signatures": members})


def signed_over(card: bytes, form: str, place: int = 0) -> bytes:
    """Return a card with one signature, over the form that is asked for."""
    payload = [one for one in payloads_of(card) if one.form == form][place]
    return with_signatures(card, sign(payload.content, read_key(PRIVATE), "ES256", kid="ES256-1"))


def changed(card: bytes, **members: object) -> bytes:
    return document_of({**json.loads(card), **members})


@pytest.mark.requirement("R-8.4.3-1", "R-8.4.3-2")
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
async def test_a_signed_card_is_verified(algorithm: str) -> None:
    signer = CardSigner(new_key(algorithm))
    document = encode_card(signer.signed(EMPTIES))
    assert await verify_card(document, TrustedKeys(signer.public_keys)) == Verification(
        outcome="verified", kid=f"{algorithm}-1", form="canonical"
    )


@given(agent_cards)
async def test_every_card_can_be_signed_and_verified(card: AgentCard) -> None:
    try:
        document = encode_card(SIGNER.signed(card))
    except UsageError:
        return  # a number that no double can hold
    found = await verify_card(document, KEYS)
    assert (found.outcome, found.form) == ("verified", "canonical")


async def test_a_card_without_a_signature_is_told_from_one_with_a_wrong_one() -> None:
    for document in (encode_card(FULL), changed(encode_card(FULL), signatures=[])):
        found = await verify_card(document, KEYS)
        assert found == Verification(outcome="absent", reason="the card is not signed")


@pytest.mark.requirement("R-8.4.3-2")
@pytest.mark.parametrize(
    "change",
    [
        {"name": "Impostor"},
        {"description": "x"},
        {"supportedInterfaces": []},
        {"iconUrl": None},
        {"securityRequirements": []},
        {"defaultOutputModes": None},
    ],
)
async def test_a_card_that_was_changed_is_not_verified(change: dict[str, object]) -> None:
    document = changed(encode_card(SIGNER.signed(EMPTIES)), **change)
    found = await verify_card(document, KEYS)
    assert found.outcome == "unverifiable"
    assert found.form is None
    assert found.reason


async def test_a_key_that_is_not_trusted_verifies_nothing() -> None:
    document = encode_card(SIGNER.signed(FULL))
    found = await verify_card(document, TrustedKeys())
    assert found.outcome == "unverifiable"
    assert found.reason == "signatures[0]: the key is not known"
    # Another key by the same name.
    other = CardSigner(new_key("ES256"))
    found = await verify_card(document, TrustedKeys(other.public_keys))
    assert found.reason == (
        "signatures[0]: it does not belong to the card as it is now, or to the key"
    )


@pytest.mark.requirement("R-8.4.3-7")
async def test_one_good_signature_is_enough() -> None:
    (good,) = SIGNER.signatures(encode_card(FULL))
    (old,) = CardSigner(new_key("ES384"), kid="gone").signatures(encode_card(FULL))
    broken = AgentCardSignature(protected="e30", signature="AA")
    document = with_signatures(encode_card(FULL), broken, old, good)
    assert (await verify_card(document, KEYS)).outcome == "verified"
    found = await verify_card(with_signatures(encode_card(FULL), broken, old), KEYS)
    assert found.reason == (
        "signatures[0]: its header has no alg and kid; signatures[1]: the key is not known"
    )


async def test_what_is_no_signature_is_told() -> None:
    document = changed(encode_card(FULL), signatures=[1, {"protected": "x"}])
    found = await verify_card(document, KEYS)
    assert found.reason == (
        "signatures[0]: it lacks protected or signature; "
        "signatures[1]: it lacks protected or signature"
    )


async def test_not_more_signatures_are_looked_at_than_a_card_can_need() -> None:
    (good,) = SIGNER.signatures(encode_card(FULL))
    broken = AgentCardSignature(protected="e30", signature="AA")
    for count, outcome in ((15, "verified"), (16, "unverifiable")):
        document = with_signatures(encode_card(FULL), *[broken] * count, good)
        assert (await verify_card(document, KEYS)).outcome == outcome


async def test_what_is_no_card_is_refused() -> None:
    with pytest.raises(A2AError):
        await verify_card(b"<html>", KEYS)


# --- forms -------------------------------------------------------------------------------------


async def test_a_signature_over_all_that_was_received_is_as_good() -> None:
    document = changed(encode_card(FULL), **{"x-more": [1]})
    found = await verify_card(signed_over(document, "whole"), KEYS)
    assert (found.outcome, found.form, found.is_weak) == ("verified", "whole", False)


async def test_members_that_1_0_does_not_know_are_not_vouched_for() -> None:
    document = changed(encode_card(SIGNER.signed(FULL)), url="https://evil.example")
    found = await verify_card(document, KEYS)
    assert (found.outcome, found.form) == ("verified", "canonical")


@pytest.mark.parametrize("place", [0, 1])
async def test_the_stripped_form_is_accepted_by_who_allows_it(place: int) -> None:
    document = signed_over(encode_card(EMPTIES), "stripped", place)
    found = await verify_card(document, KEYS)
    assert found.outcome == "unverifiable"
    assert "it holds for what is not empty in the card" in found.reason
    found = await verify_card(document, KEYS, allow_stripped=True)
    assert (found.outcome, found.form, found.is_weak) == ("verified", "stripped", True)


async def test_the_strongest_form_is_told() -> None:
    signed = SIGNER.signed(EMPTIES)
    document = with_signatures(encode_card(EMPTIES), *reversed(signed.signatures))
    found = await verify_card(document, KEYS, allow_stripped=True)
    assert (found.form, found.is_weak) == ("canonical", False)


@pytest.mark.parametrize(
    ("form", "place", "is_weak"), [("whole", 0, False), ("py-0.3", 0, True), ("py-0.3", 1, True)]
)
async def test_an_old_card_is_verified_in_every_form_of_its_time(
    form: str, place: int, *, is_weak: bool
) -> None:
    found = await verify_card(signed_over(document_of(OLD), form, place), KEYS)
    assert (found.outcome, found.form, found.is_weak) == ("verified", form, is_weak)
    tampered = changed(signed_over(document_of(OLD), form, place), url="https://evil.example")
    assert (await verify_card(tampered, KEYS)).outcome == "unverifiable"


# --- signing -----------------------------------------------------------------------------------


def test_a_card_in_which_nothing_is_empty_needs_one_signature() -> None:
    assert len(SIGNER.signed(FULL).signatures) == 1


def test_one_that_sdks_would_read_otherwise_is_signed_for_them_too() -> None:
    # As the specification has it, as the SDKs do now, and as they did before 1.3.
    assert len(SIGNER.signed(EMPTIES).signatures) == 3
    assert len(SIGNER.signatures(document_of(OLD))) == 3


def test_signatures_of_others_stay() -> None:
    once = SIGNER.signed(FULL)
    twice = CardSigner(new_key("ES384")).signed(once)
    assert twice.signatures[:-1] == once.signatures


def test_a_card_that_cannot_be_written_is_not_signed() -> None:
    with pytest.raises(UsageError, match="RFC 8785 cannot write"):
        SIGNER.signatures(b'{"n": 9007199254740993}')


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ECKey.generate_key("P-256"), "ES256"),
        (ECKey.generate_key("P-384"), "ES384"),
        (ECKey.generate_key("P-521"), "ES512"),
        (RSAKey.generate_key(2048), "RS256"),
        (OKPKey.generate_key("Ed25519"), "EdDSA"),
    ],
    ids=["P-256", "P-384", "P-521", "RSA", "Ed25519"],
)
async def test_a_key_in_a_file_knows_its_algorithm_and_its_name(
    key: ECKey | RSAKey | OKPKey, algorithm: str, tmp_path: Path
) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(key.as_pem(private=True))
    signer = CardSigner(path)
    (public,) = TrustedKeys(signer.public_keys)._given  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what it has read
    assert (public["alg"], public["kid"], public["use"]) == (algorithm, key.thumbprint(), "sig")
    assert not {"d", "p", "q"} & set(public)
    found = await verify_card(encode_card(signer.signed(FULL)), TrustedKeys(signer.public_keys))
    assert found.outcome == "verified"


@pytest.mark.requirement("R-8.4.2-4")
async def test_a_signature_can_say_where_its_key_is() -> None:
    signer = CardSigner(PRIVATE, kid="mine", jku="https://keys.example/jwks.json")
    found = await verify_card(encode_card(signer.signed(FULL)), TrustedKeys())
    assert "'https://keys.example/jwks.json', which is not on the allow-list" in found.reason


@pytest.mark.parametrize(
    ("key", "finding"),
    [
        ({"kty": "oct", "k": "c2VjcmV0"}, "a key of type 'oct' is not accepted"),
        (ECKey.generate_key("P-256", private=False).as_dict(), "the key cannot sign with ES256"),
        (OKPKey.generate_key("X25519").as_dict(private=True), "cards are not signed with ''"),
        ({**new_key("ES256"), "alg": "HS256"}, "cards are not signed with 'HS256'"),
        ({**new_key("ES256"), "alg": "RS256"}, "the key cannot sign with RS256"),
        ("no.pem", r"cannot read no\.pem"),
        (__file__, "holds no private key"),
    ],
)
def test_a_key_that_cannot_sign_is_told(key: dict[str, object] | str, finding: str) -> None:
    with pytest.raises(UsageError, match=finding):
        CardSigner(key)


def test_an_encrypted_key_is_told(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(ECKey.generate_key("P-256").as_pem(private=True, password="x"))  # noqa: S106 - of this test
    with pytest.raises(UsageError, match="PEM that is not encrypted"):
        CardSigner(path)
