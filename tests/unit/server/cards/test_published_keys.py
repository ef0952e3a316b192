"""The public keys of an agent as one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from dragoman.clock import SystemClock
from dragoman.push.signing_keys import SigningKeys
from dragoman.server.cards.published_keys import PublishedKeys
from dragoman.server.cards.signing import CardSigning
from dragoman.server.settings import Settings
from dragoman.server.webhooks.keys import PushKeys
from tests.support.auth.signing_cards import new_key


@pytest.fixture
def cards(tmp_path: Path) -> CardSigning:
    file = tmp_path / "card.json"
    file.write_text(json.dumps({**new_key("ES256"), "kid": "card"}))
    return CardSigning([file], "https://agent.example")


def push(file: Path | None = None, signing: Literal["jwt", "none"] = "jwt") -> PushKeys:
    keys = str(file) if file is not None else None
    settings = Settings(store="memory:", push_keys=keys, push_signing=signing)
    return PushKeys(settings, SystemClock())


def kids(keys: PublishedKeys) -> list[str]:
    document = keys.document()
    assert document is not None
    found = json.loads(document)["keys"]
    assert not any("d" in each for each in found), "a private part is published"
    return [each["kid"] for each in found]


def test_who_signs_nothing_has_no_document() -> None:
    assert PublishedKeys(None, push(signing="none")).document() is None


def test_the_keys_of_cards_and_of_notifications_stand_together(
    cards: CardSigning, tmp_path: Path
) -> None:
    file = tmp_path / "push.json"
    made = SigningKeys(file)
    assert kids(PublishedKeys(cards, push(file))) == ["card", made.newest.kid]
    assert kids(PublishedKeys(None, push(file))) == [made.newest.kid]
    assert kids(PublishedKeys(cards, push(signing="none"))) == ["card"]


def test_a_key_that_an_operator_has_made_is_published_at_once(tmp_path: Path) -> None:
    file = tmp_path / "push.json"
    keys = PublishedKeys(None, push(file))
    (first,) = kids(keys)
    operator = SigningKeys(file)
    operator.rotate()
    assert kids(keys) == [operator.newest.kid, first]


def test_keys_stay_published_when_their_file_is_spoiled(tmp_path: Path) -> None:
    file = tmp_path / "push.json"
    keys = PublishedKeys(None, push(file))
    known = kids(keys)
    file.write_text("{")
    assert kids(keys) == known


def test_keys_that_cannot_be_read_do_not_hide_the_others(
    cards: CardSigning, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "push.json"
    file.write_text("{")
    file.chmod(0o600)
    assert kids(PublishedKeys(cards, push(file))) == ["card"]
    assert "not published" in caplog.text
