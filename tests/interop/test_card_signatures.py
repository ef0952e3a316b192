"""Our signatures of cards against those of the official SDKs, in both directions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner, verify_card
from dragoman.dialects.negotiation import parse_version
from dragoman.dialects.v1_0.card import encode_card
from dragoman.model.cards import AgentCard
from dragoman.server.cards.card import PublishedCards
from dragoman.server.cards.signing import CardSigning
from tests.interop.environments import PEERS, UnreachableError, environment
from tests.scenarios.agents import make_agent
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of, new_key

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-sdk"),
    # The first test may have to install the SDK.
    pytest.mark.timeout(600),
]

Json: TypeAlias = dict[str, Any]

CURRENT: Final = "py_1_3"
OLDER: Final = "py_0_3"
KEYS: Final = [new_key(algorithm) for algorithm in ("ES256", "RS256", "EdDSA")]


def ask(peer: str, *tasks: Json) -> list[Any]:
    """Have an SDK sign or verify cards."""
    try:
        command, folder = environment(peer)
    except UnreachableError as error:
        reason = f"{peer} cannot be installed: {error}"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    done = subprocess.run(
        [*command, str(PEERS / "signing.py")],
        cwd=folder,
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def to_verify(card: Json, signer: CardSigner) -> tuple[Json, Json]:
    """Return what an SDK has to accept, and what it must not."""
    task = {"do": "verify", "card": card, "key": signer.public_keys["keys"][0]}
    return task, {**task, "card": {**card, "name": "Impostor"}}


async def verified_form(card: Json, key: Json) -> str | None:
    """Return by which form we accept a card; one that was changed has to be refused."""
    keys = TrustedKeys(CardSigner(key).public_keys)
    changed = document_of({**card, "name": "Impostor"})
    assert (await verify_card(changed, keys, allow_stripped=True)).outcome == "unverifiable"
    return (await verify_card(document_of(card), keys, allow_stripped=True)).form


@pytest.mark.parametrize("card", [FULL, EMPTIES], ids=["full", "empties"])
def test_the_sdk_verifies_what_we_sign(card: AgentCard) -> None:
    signers = [CardSigner(key) for key in KEYS]
    cards: list[Json] = [json.loads(encode_card(signer.signed(card))) for signer in signers]
    pairs = [to_verify(card, signer) for card, signer in zip(cards, signers, strict=True)]
    answers = ask(CURRENT, *(task for pair in pairs for task in pair))
    assert answers == [True, False] * len(KEYS)


@pytest.mark.parametrize(
    ("card", "form"), [(FULL, "canonical"), (EMPTIES, "stripped")], ids=["full", "empties"]
)
async def test_we_verify_what_the_sdk_signs(card: AgentCard, form: str) -> None:
    written: Json = json.loads(encode_card(card))
    tasks = [{"do": "sign", "card": written, "key": key} for key in KEYS]
    for key, signatures in zip(KEYS, ask(CURRENT, *tasks), strict=True):
        assert await verified_form({**written, "signatures": signatures}, key) == form


def served(folder: Path, version: str) -> tuple[Json, CardSigner]:
    """Return the card of an agent that was given a key, as a reader of a version gets it."""
    path = folder / "key.json"
    path.write_text(json.dumps(KEYS[0]))
    signing = CardSigning([path], "https://agent.example")
    desk = PublishedCards(make_agent(), 0, signing=signing)
    file = desk.file("https://agent.example", parse_version(version))
    return json.loads(file.body), CardSigner(KEYS[0])


@pytest.mark.parametrize(("sdk", "version"), [(CURRENT, "1.0"), (CURRENT, ""), (OLDER, "0.3")])
def test_the_sdk_verifies_the_card_we_serve(tmp_path: Path, sdk: str, version: str) -> None:
    assert ask(sdk, *to_verify(*served(tmp_path, version))) == [True, False]


def test_the_old_sdk_verifies_what_we_sign() -> None:
    signer = CardSigner(KEYS[0])
    signatures = [
        {"protected": one.protected, "signature": one.signature}
        for one in signer.signatures(document_of(OLD))
    ]
    answers = ask(OLDER, *to_verify({**OLD, "signatures": signatures}, signer))
    assert answers == [True, False]


async def test_we_verify_what_the_old_sdk_signs() -> None:
    (signatures,) = ask(OLDER, {"do": "sign", "card": OLD, "key": KEYS[0]})
    assert await verified_form({**OLD, "signatures": signatures}, KEYS[0]) == "py-0.3"
