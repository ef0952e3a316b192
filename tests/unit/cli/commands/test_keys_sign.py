"""dragoman keys create-card-key and sign-card."""

from __future__ import annotations

import json
import stat
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import verify_card
from dragoman.dialects.v1_0.card import encode_card
from tests.cli.calling import Cli
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "card.json").write_bytes(encode_card(FULL))
    return Cli(tmp_path)


def made(cli: Cli, *arguments: str) -> dict[str, Any]:
    """Make a key and return what is told of it."""
    result = cli("keys", "create-card-key", *arguments, "--output", "json")
    assert result.code == 0, result.err
    return result.json


async def outcome(document: str, *public_keys: dict[str, Any]) -> tuple[str, str]:
    seen = await verify_card(document.encode(), TrustedKeys({"keys": list(public_keys)}))
    return seen.outcome, seen.kid


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "EdDSA", "RS256", "PS256"])
async def test_a_key_is_made_that_signs_a_card(cli: Cli, algorithm: str) -> None:
    told = made(cli, "--algorithm", algorithm, "--kid", "k1")
    signed = cli("keys", "sign-card", "card.json")
    assert await outcome(signed.out, told["publicKey"]) == ("verified", "k1")
    assert told["publicKey"]["alg"] == algorithm


def test_only_its_owner_can_read_a_key(cli: Cli) -> None:
    made(cli)
    assert stat.S_IMODE((cli.folder / "card-key.json").stat().st_mode) == 0o600


def test_nothing_private_is_shown(cli: Cli) -> None:
    result = cli("keys", "create-card-key")
    private = json.loads((cli.folder / "card-key.json").read_text())["d"]
    assert private not in result.out + result.err
    assert result.field("File") == "card-key.json"
    assert json.loads(result.field("Public key"))["kid"] == result.field("Kid")


def test_a_key_is_never_written_over_another(cli: Cli) -> None:
    made(cli)
    before = (cli.folder / "card-key.json").read_bytes()
    again = cli("keys", "create-card-key")
    assert again.code == 2
    assert "is there already" in again.err
    assert (cli.folder / "card-key.json").read_bytes() == before


@pytest.mark.parametrize("name", ["HS256", "none", "es256"])
def test_an_algorithm_that_is_not_for_cards_is_refused(cli: Cli, name: str) -> None:
    result = cli("keys", "create-card-key", "--algorithm", name)
    assert result.code == 2
    assert "--algorithm must be one of ES256" in result.err
    assert not (cli.folder / "card-key.json").exists()


async def test_a_card_can_come_from_standard_input(cli: Cli) -> None:
    told = made(cli)
    signed = cli("keys", "sign-card", "-", stdin=encode_card(FULL).decode())
    assert (await outcome(signed.out, told["publicKey"]))[0] == "verified"


async def test_where_sdks_read_a_card_otherwise_it_is_signed_for_them_too(cli: Cli) -> None:
    told = made(cli)
    signed = cli("keys", "sign-card", "-", stdin=encode_card(EMPTIES).decode())
    assert len(signed.json["signatures"]) > 1
    assert (await outcome(signed.out, told["publicKey"]))[0] == "verified"


async def test_an_old_card_is_signed_as_well(cli: Cli) -> None:
    told = made(cli)
    (cli.folder / "old.json").write_bytes(document_of(OLD))
    signed = cli("keys", "sign-card", "old.json")
    assert (await outcome(signed.out, told["publicKey"]))[0] == "verified"


async def test_a_second_key_adds_its_signature_and_the_same_key_replaces_its_own(cli: Cli) -> None:
    first = made(cli, "--kid", "one")
    second = made(cli, "--kid", "two", "--card-key", "second.json")
    once = cli("keys", "sign-card", "card.json")
    (cli.folder / "card.json").write_text(once.out)
    twice = cli("keys", "sign-card", "card.json", "--card-key", "second.json")
    (cli.folder / "card.json").write_text(twice.out)
    again = cli("keys", "sign-card", "card.json", "--card-key", "second.json")
    assert len(again.json["signatures"]) == len(twice.json["signatures"]) == 2
    assert await outcome(again.out, first["publicKey"]) == ("verified", "one")
    assert await outcome(again.out, second["publicKey"]) == ("verified", "two")


def test_a_signature_can_say_where_the_key_is(cli: Cli) -> None:
    made(cli)
    url = "https://keys.example/jwks.json"
    signed = cli("keys", "sign-card", "card.json", "--jku", url)
    protected = signed.json["signatures"][0]["protected"]
    assert json.loads(urlsafe_b64decode(protected + "=="))["jku"] == url


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.json",), "cannot read none.json"),
        (("text.txt",), "text.txt is no card"),
        (("list.json",), "list.json is no card"),
        (("card.json", "--card-key", "none.json"), "cannot read"),
        (("card.json", "--card-key", "text.txt"), "holds no private key"),
    ],
)
def test_what_cannot_be_signed_is_refused(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    made(cli)
    (cli.folder / "text.txt").write_text("nonsense")
    (cli.folder / "list.json").write_text("[]")
    result = cli("keys", "sign-card", *arguments)
    assert (result.code, result.out) == (2, "")
    assert told in result.err
