import os
import stat
from pathlib import Path

import pytest

from dragoman.errors import UsageError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.server.tasks.secrets import PLACEHOLDER, TaskSecrets, concealed

SECRET = Message(
    message_id="m-1",
    role=Role.USER,
    task_id="t-1",
    parts=(Part(text="hunter2"), Part(raw=b"\x00key")),
    metadata={"pin": 4711},
)


def hidden() -> Message:
    return concealed(SendMessageRequest(message=SECRET, metadata={"also": "secret"})).message


def test_nothing_but_ids_is_left_of_what_is_concealed() -> None:
    request = concealed(SendMessageRequest(message=SECRET, metadata={"also": "secret"}))
    assert request.metadata is None
    assert request.message == Message(
        message_id="m-1", role=Role.USER, task_id="t-1", parts=(Part(text=PLACEHOLDER),)
    )


def test_it_is_told_beforehand_why_nothing_can_be_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="secrets_key: all replicas need one"):
        TaskSecrets(why_none="all replicas need one").unlock()
    with pytest.raises(UsageError, match=r"secrets_key: .*gone"):
        TaskSecrets(tmp_path / "gone" / "key").unlock()


def test_what_is_sealed_is_opened_again() -> None:
    task_secrets = TaskSecrets()
    sealed = task_secrets.seal("t-1", SECRET)
    assert b"hunter2" not in sealed
    assert task_secrets.open("t-1", sealed, hidden()) == SECRET
    assert task_secrets.seal("t-1", SECRET) != sealed


def test_a_secret_is_bound_to_its_task() -> None:
    task_secrets = TaskSecrets()
    with pytest.raises(UsageError, match="task t-2 cannot be read"):
        task_secrets.open("t-2", task_secrets.seal("t-1", SECRET), hidden())


def test_a_secret_that_was_tampered_with_is_not_opened() -> None:
    task_secrets = TaskSecrets()
    sealed = bytearray(task_secrets.seal("t-1", SECRET))
    sealed[-1] ^= 1
    with pytest.raises(UsageError, match="cannot be read"):
        task_secrets.open("t-1", bytes(sealed), hidden())


def test_the_key_is_made_when_it_is_needed_and_is_the_owners_alone(tmp_path: Path) -> None:
    place = tmp_path / "tasks.db.key"
    task_secrets = TaskSecrets(place)
    assert not place.exists()
    sealed = task_secrets.seal("t-1", SECRET)
    assert len(place.read_bytes()) == 32
    if os.name == "posix":
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert TaskSecrets(place).open("t-1", sealed, hidden()) == SECRET


def test_another_key_does_not_open_it(tmp_path: Path) -> None:
    sealed = TaskSecrets(tmp_path / "one").seal("t-1", SECRET)
    with pytest.raises(UsageError, match="two is not the key"):
        TaskSecrets(tmp_path / "two").open("t-1", sealed, hidden())


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "key"
    place.write_bytes(b"short")
    with pytest.raises(UsageError, match="does not hold 32 bytes"):
        TaskSecrets(place).seal("t-1", SECRET)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"secrets_key: .*nowhere"):
        TaskSecrets(tmp_path / "nowhere" / "key").seal("t-1", SECRET)
