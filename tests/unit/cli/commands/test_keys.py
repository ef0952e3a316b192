import json
import stat
from base64 import b64encode
from pathlib import Path

import pytest

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.key_records import merge_uses
from dragoman.errors import UnauthenticatedError
from tests.cli.calling import Cli
from tests.support.auth.issuing import showing


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


async def owner(folder: Path, key: str) -> str:
    found = await ApiKeys(folder / "keys.json").authenticate(showing(x_api_key=key))
    assert found is not None
    return found.owner


async def test_a_key_that_is_made_is_good_until_it_is_revoked(alone: Cli) -> None:
    made = alone("keys", "create", "alice", "--scope", "read", "--scope", "write")
    key = made.field("Key")
    assert made.code == 0
    assert key.startswith("dgm_")
    assert len(key) == 47
    assert made.field("Scopes") == "read write"
    assert await owner(alone.folder, key) == "key:alice"
    path = alone.folder / "keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    listed = alone("keys", "list")
    # It was shown once, and is nowhere to be found again.
    assert key not in listed.out + listed.err + path.read_text()
    assert listed.field("Id") == made.field("Id")
    assert listed.field("State") == "good"

    assert alone("keys", "revoke", made.field("Id")).field("Revoked") == made.field("Id")
    assert alone("keys", "list").field("State") == "revoked"
    with pytest.raises(UnauthenticatedError):
        await owner(alone.folder, key)


def test_every_key_is_another(alone: Cli) -> None:
    made = [alone("keys", "create", "alice").field("Key") for _ in range(3)]
    assert len(set(made)) == 3
    assert len(alone("keys", "list").fields("Id")) == 3


def test_all_is_told_in_json_too(alone: Cli) -> None:
    made = alone(
        *("keys", "create", "alice", "--for-tenant", "t1", "--for-tenant", "t2"),
        *("--expires-in", "1h", "--keys", "other.json", "-o", "json"),
    ).json
    assert made["key"].startswith("dgm_")
    merge_uses(alone.folder / "other.json", {made["id"]: "2026-01-01T00:00:00.000Z"})
    [listed] = alone("keys", "list", "--keys", "other.json", "-o", "json").json["keys"]
    assert listed == {
        "id": made["id"],
        "kind": "key",
        "owner": "alice",
        "state": "good",
        "scopes": [],
        "tenants": ["t1", "t2"],
        "created": made["created"],
        "expires": made["expires"],
        "revoked": None,
        "lastUsed": "2026-01-01T00:00:00.000Z",
    }
    assert made["expires"] > made["created"]


def test_a_key_that_has_expired_is_listed_as_such(alone: Cli) -> None:
    assert alone("keys", "create", "alice", "--expires-in", "0s").field("State") == "expired"


async def test_a_user_has_one_password_at_a_time(alone: Cli) -> None:
    made = alone("keys", "create", "alice", "--basic", "-o", "json").json
    again = alone("keys", "create", "alice", "--basic")
    assert again.code == 2
    assert "revoke it first" in again.err
    alone("keys", "revoke", "alice")
    renewed = alone("keys", "create", "alice", "--basic", "-o", "json").json
    assert renewed["password"] != made["password"]
    assert len(json.loads((alone.folder / "keys.json").read_text())["keys"]) == 1
    users = BasicUsers(alone.folder / "keys.json")
    pair = b64encode(f"alice:{renewed['password']}".encode()).decode()
    found = await users.authenticate(showing(f"Basic {pair}"))
    assert found is not None
    assert found.owner == "basic:alice"


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (("create", ""), "OWNER must not be empty"),
        (("create", "a:b", "--basic"), "has no colon"),
        (("create", "alice", "--keys", "no/keys.json"), "cannot write"),
        (("create", "alice", "--expires-in", "soon"), "must be a duration"),
        (("list",), "there is no"),
        (("revoke", "k"), "there is no"),
    ],
)
def test_what_makes_no_sense_is_told(alone: Cli, arguments: tuple[str, ...], finding: str) -> None:
    result = alone("keys", *arguments)
    assert result.code == 2
    assert finding in result.err


def test_a_key_that_is_not_there_cannot_be_revoked(alone: Cli) -> None:
    alone("keys", "create", "alice")
    result = alone("keys", "revoke", "nobody")
    assert result.code == 2
    assert "there is no key nobody" in result.err


def test_a_time_of_revocation_stays(alone: Cli) -> None:
    name = alone("keys", "create", "alice").field("Id")
    alone("keys", "revoke", name)
    path = alone.folder / "keys.json"
    before = path.read_text()
    alone("keys", "revoke", name)
    assert path.read_text() == before


def test_an_empty_file_is_no_mistake(alone: Cli) -> None:
    path = alone.folder / "keys.json"
    path.write_text('{"keys": []}')
    path.chmod(0o600)
    result = alone("keys", "list")
    assert (result.code, result.out) == (0, "")
    assert "there are no keys" in result.err
