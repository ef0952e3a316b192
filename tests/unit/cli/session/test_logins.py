import asyncio
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.auth.outgoing.tokens import Token
from dragoman.cli.session.logins import Login, LoginFile
from dragoman.errors import UsageError

LOGIN = Login(
    agent="https://a.example:443",
    origin="https://a.example:443",
    flow="device-code",
    authority="https://id.example",
    token_url="https://id.example/token",  # noqa: S106 - no secret
    client_id="me",
    token=Token("access", 1, refresh_token="again"),  # noqa: S106 - of a test
)


async def put(file: LoginFile, *logins: Login) -> None:
    async with file.locked():
        for login in logins:
            file.put(login)


def test_there_may_be_no_file(tmp_path: Path) -> None:
    assert LoginFile(tmp_path / "none").read() == ()


async def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "own")
    other = replace(LOGIN, client_id="you")
    await put(file, LOGIN, other)
    assert LoginFile(tmp_path / "own").read() == (other, LOGIN)
    assert file.find(LOGIN.key) == LOGIN


async def test_a_second_login_takes_the_place_of_the_first(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "own")
    again = replace(LOGIN, token=Token("next", 2))
    await put(file, LOGIN, again)
    assert file.read() == (again,)


async def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "own")
    before = os.umask(0)
    try:
        await put(file, LOGIN)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert sorted(each.name for each in file.path.parent.iterdir()) == [
        "tokens.json",
        "tokens.lock",
    ]


@pytest.mark.parametrize(
    ("name", "mode"),
    [("tokens.json", 0o604), ("tokens.json", 0o620), (".", 0o701)],
)
async def test_what_is_open_to_others_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    file = LoginFile(tmp_path / "own")
    await put(file, LOGIN)
    (tmp_path / "own" / name).chmod(mode)
    with pytest.raises(UsageError, match=r"is open to other users: .* chmod"):
        file.read()


async def test_nothing_is_written_where_others_can_read(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o755)
    with pytest.raises(UsageError, match="chmod 700"):
        await put(LoginFile(tmp_path / "own"), LOGIN)
    assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "finding"),
    [(b"{", "remove it and sign in again"), (b'{"logins":[],"form":2}', "another version")],
)
async def test_a_file_that_is_not_ours_is_refused(
    tmp_path: Path, content: bytes, finding: str
) -> None:
    file = LoginFile(tmp_path / "own")
    await put(file, LOGIN)
    file.path.write_bytes(content)
    with pytest.raises(UsageError, match=finding):
        file.read()


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "own").touch()
    with pytest.raises(UsageError, match="cannot write to"):
        await put(LoginFile(tmp_path / "own" / "deep"), LOGIN)


async def test_the_last_one_takes_the_file_with_it(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "own")
    other = replace(LOGIN, client_id="you")
    await put(file, LOGIN, other)
    async with file.locked():
        file.remove([LOGIN])
        assert file.read() == (other,)
        file.remove([other])
    assert not file.path.exists()


async def test_what_a_killed_process_has_left_behind_does_not_matter(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "own")
    await put(file, LOGIN)
    file.path.with_name("tokens.json.new").write_text("half")
    await put(file, replace(LOGIN, client_id="you"))
    assert len(file.read()) == 2


async def test_who_changes_it_waits_for_the_other(tmp_path: Path) -> None:
    order: list[str] = []
    first, second = LoginFile(tmp_path / "own"), LoginFile(tmp_path / "own")
    inside, waiting = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await inside.wait()
        waiting.set()
        async with second.locked():
            order.append("second")

    async with asyncio.TaskGroup() as group:
        group.create_task(change())
        async with first.locked():
            inside.set()
            await waiting.wait()
            order.append("first")
    assert order == ["first", "second"]


def test_no_secret_is_shown() -> None:
    assert "access" not in repr(LOGIN)
    assert LOGIN.secrets() == ("access", "again")
