import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.auth.incoming.key_file import KeyFile
from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of, read_uses
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock

KEY = KeyRecord(id="k", hash=digest_of("k"), owner="alice", created="2026-01-01T00:00:00.000Z")
USER = replace(KEY, id="bob", hash="scrypt:1:1:1:AA:AA", owner="bob")


class Watched:
    """A file of keys, and a server that looks at it."""

    def __init__(self, folder: Path, *records: KeyRecord) -> None:
        self.path = folder / "keys.json"
        self.write(*records)
        self.clock = FakeClock()
        self.file = KeyFile(self.path, self.clock, owner_prefix="key:")

    def write(self, *records: KeyRecord) -> None:
        change_keys(self.path, lambda _: records)

    def owner(self, key: str = "k") -> str | None:
        found = self.file.use(digest_of(key))
        return found.principal.owner if found else None


def test_keys_are_found_by_their_hash_and_users_by_their_name(tmp_path: Path) -> None:
    watched = Watched(tmp_path, KEY, USER)
    assert watched.owner() == "key:alice"
    found = watched.file.user("bob")
    assert found is not None
    assert found.principal.owner == "key:bob"
    # Neither is taken for the other.
    assert watched.file.user("k") is None
    assert watched.file.use(USER.hash) is None
    assert watched.owner("other") is None


def test_a_change_is_seen_within_a_second(tmp_path: Path) -> None:
    watched = Watched(tmp_path, KEY)
    before = watched.file.version
    watched.write(replace(KEY, revoked=KEY.created), replace(KEY, id="n", hash=digest_of("new")))
    assert watched.owner() == "key:alice"
    watched.clock.advance(1)
    assert watched.owner() is None
    assert watched.owner("new") == "key:alice"
    assert watched.file.version == before + 1
    # Nothing has changed since, so nothing is read.
    watched.clock.advance(5)
    assert watched.owner("new")
    assert watched.file.version == before + 1


def test_a_file_that_is_gone_has_no_keys(tmp_path: Path) -> None:
    watched = Watched(tmp_path, KEY)
    watched.path.unlink()
    watched.clock.advance(1)
    assert watched.owner() is None


def test_a_slip_of_the_hand_locks_out_nobody_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(tmp_path, KEY)
    watched.path.write_text("{")
    watched.clock.advance(1)
    with caplog.at_level(logging.ERROR):
        assert watched.owner() == "key:alice"
    assert "the keys of before are still in use" in caplog.text


def test_a_key_that_expires_while_nobody_writes_is_worthless(tmp_path: Path) -> None:
    watched = Watched(tmp_path, replace(KEY, expires="2026-01-01T00:00:10.000Z"))
    watched.clock.advance(9.999)
    assert watched.owner()
    watched.clock.advance(0.001)
    assert watched.owner() is None


async def test_the_last_use_is_written_at_most_once_a_minute(tmp_path: Path) -> None:
    watched = Watched(tmp_path, KEY)
    known = watched.file.use(KEY.hash)
    assert known is not None
    await watched.file.note_use(known)
    assert read_uses(watched.path) == {"k": "2026-01-01T00:00:00.000Z"}
    watched.clock.advance(59)
    await watched.file.note_use(known)
    assert read_uses(watched.path) == {"k": "2026-01-01T00:00:00.000Z"}
    watched.clock.advance(1)
    await watched.file.note_use(known)
    assert read_uses(watched.path) == {"k": "2026-01-01T00:01:00.000Z"}
    watched.clock.advance(1)
    await watched.file.note_use(known)
    await watched.file.write_uses()
    assert read_uses(watched.path) == {"k": "2026-01-01T00:01:01.000Z"}


async def test_a_place_that_cannot_be_written_is_told_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(tmp_path, KEY)
    known = watched.file.use(KEY.hash)
    assert known is not None
    # A folder stands where the file should be.
    (tmp_path / "keys.json.used").mkdir()
    await watched.file.note_use(known)
    assert "cannot be kept" in caplog.text


def test_a_server_does_not_start_without_its_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make it with dragoman keys create"):
        KeyFile(tmp_path / "keys.json", FakeClock(), owner_prefix="")
