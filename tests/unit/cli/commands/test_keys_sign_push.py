"""dragoman keys rotate-push-key, beside a server that has the keys in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.push.signing_keys import SigningKeys
from dragoman.server.webhooks.keys import KEYS_SUFFIX
from tests.cli.calling import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def kids(keys: SigningKeys) -> list[object]:
    return [each["kid"] for each in keys.jwks()["keys"]]


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        (f"dragoman.db{KEYS_SUFFIX}", []),
        (f"tasks.db{KEYS_SUFFIX}", ["--store", "sqlite:///tasks.db"]),
        ("keys.json", ["--push-keys", "keys.json"]),
    ],
)
def test_a_server_that_runs_signs_with_the_new_key(
    cli: Cli, tmp_path: Path, file: str, arguments: list[str]
) -> None:
    server = SigningKeys(tmp_path / file)
    (first,) = kids(server)
    result = cli("keys", "rotate-push-key", *arguments)
    assert result.code == 0
    assert result.field("Published") == "2"
    server.refresh()
    assert kids(server) == [result.field("Key"), first]


def test_a_key_that_others_may_have_goes_at_once(cli: Cli, tmp_path: Path) -> None:
    server = SigningKeys(tmp_path / "keys.json")
    made = cli("keys", "rotate-push-key", "--push-keys", "keys.json", "--drop-old", "-o", "json")
    server.refresh()
    assert kids(server) == [made.json["kid"]]
    assert made.json["published"] == 1


def test_a_file_that_is_not_there_is_not_made(cli: Cli, tmp_path: Path) -> None:
    result = cli("keys", "rotate-push-key")
    assert result.code == 2
    assert "a server makes it" in result.err
    assert not list(tmp_path.iterdir())


def test_on_postgresql_the_file_must_be_named(cli: Cli) -> None:
    result = cli("keys", "rotate-push-key", "--store", "postgres://host/name")
    assert result.code == 2
    assert "--push-keys" in result.err
