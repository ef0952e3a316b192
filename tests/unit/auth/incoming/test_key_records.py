import json
import os
import stat
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.auth.incoming.key_records import (
    KeyRecord,
    change_keys,
    digest_of,
    merge_uses,
    read_keys,
    read_uses,
)
from dragoman.errors import UsageError

RECORD = KeyRecord(
    id="k-1",
    hash=digest_of("secret"),
    owner="alice",
    scopes=("read",),
    tenants=("t",),
    created="2026-01-01T00:00:00.000Z",
    expires="2026-02-01T00:00:00.000Z",
)
FEBRUARY = 1_769_904_000_000


def test_a_key_is_good_until_it_expires_or_is_revoked() -> None:
    assert RECORD.expires_ms == FEBRUARY
    assert RECORD.is_good(FEBRUARY - 1)
    assert not RECORD.is_good(FEBRUARY)
    assert replace(RECORD, expires="").is_good(2**60)
    assert not replace(RECORD, revoked=RECORD.created).is_good(0)


def test_a_record_says_who_shows_the_key() -> None:
    found = RECORD.principal("key:")
    assert (found.owner, found.expires_ms) == ("key:alice", FEBRUARY)
    assert found.scopes == {"read"}
    assert found.tenants == {"t"}
    assert replace(RECORD, tenants=None).principal("").tenants is None
    assert not RECORD.is_password
    assert replace(RECORD, hash="scrypt:…").is_password


def test_a_file_is_made_for_nobody_else_and_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    change_keys(path, lambda known: (*known, RECORD))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.read_text()
    assert read_keys(path) == (RECORD,)


def test_two_who_change_a_file_at_once_both_do(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"

    def add(name: str) -> None:
        change_keys(path, lambda known: (*known, replace(RECORD, id=name)))

    threads = [threading.Thread(target=add, args=(f"k-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.id for one in read_keys(path)} == {f"k-{n}" for n in range(8)}


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        ("", "truncated"),
        ("[]", "Expected `object`"),
        ('{"keys": [{"id": "a"}]}', r"missing required field `hash` - at `\$\.keys\[0\]`"),
        ('{"keys": [], "form": 2}', "another version"),
        (
            '{"keys": [{"id": "", "hash": "h", "owner": "o", "created": ""}]}',
            "id and owner must not be empty",
        ),
        (
            '{"keys": [{"id": "i", "hash": "h", "owner": "o", "created": "", "expires": "soon"}]}',
            "must be an RFC 3339 time",
        ),
        ("\xff", "cannot read"),
    ],
)
def test_a_file_that_makes_no_sense_is_told(tmp_path: Path, content: str, finding: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(UsageError, match=finding):
        read_keys(path)


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_change_is_not_read(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys.json"
    change_keys(path, lambda _: (RECORD,))
    path.chmod(mode)
    with pytest.raises(UsageError, match="can be changed by other users"):
        read_keys(path)
    # Reading does them no good: only hashes are there.
    path.chmod(0o644)
    assert read_keys(path)


def test_a_file_that_is_not_there_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_keys(tmp_path / "keys.json")
    with pytest.raises(UsageError, match="cannot write"):
        change_keys(tmp_path / "no" / "keys.json", lambda known: known)


def test_the_latest_use_counts_whoever_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert read_uses(path) == {}
    merge_uses(path, {"a": "2026-01-02T00:00:00.000Z"})
    merge_uses(path, {"a": "2026-01-01T00:00:00.000Z", "b": "2026-01-03T00:00:00.000Z"})
    assert read_uses(path) == {"a": "2026-01-02T00:00:00.000Z", "b": "2026-01-03T00:00:00.000Z"}
    (tmp_path / "keys.json.used").write_text(json.dumps([1]))
    assert read_uses(path) == {}
