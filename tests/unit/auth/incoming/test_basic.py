"""Who is let in by user and password, and who is not."""

import asyncio
from base64 import b64encode
from hashlib import scrypt
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of, read_uses
from dragoman.auth.incoming.passwords import DECOY, hash_password
from dragoman.errors import UnavailableError, UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import refusal, showing

CHEAP = scrypt(b"s3cret", salt=b"salt", n=2, r=1, p=1, dklen=32)
HASH = f"scrypt:2:1:1:{b64encode(b'salt').decode()}:{b64encode(CHEAP).decode()}"
RECORD = KeyRecord(id="alice", hash=HASH, owner="alice", created="2026-01-01T00:00:00.000Z")


def pair(user: str = "alice", password: str = "s3cret", scheme: str = "Basic") -> Evidence:  # noqa: S107 - of a test
    return showing(f"{scheme} {b64encode(f'{user}:{password}'.encode()).decode()}")


def raw(data: bytes) -> Evidence:
    return showing(f"Basic {b64encode(data).decode()}")


async def owner(users: BasicUsers, evidence: Evidence) -> str | None:
    found = await users.authenticate(evidence)
    return found.owner if found else None


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC"])
async def test_user_and_password_that_belong_together_are_good(scheme: str) -> None:
    assert await owner(BasicUsers({"alice": HASH}), pair(scheme=scheme)) == "basic:alice"


async def test_a_password_may_have_colons_and_letters_of_any_script() -> None:
    password = "a:b \N{SNOWMAN}"  # noqa: S105 - of a test
    users = BasicUsers({"j\N{LATIN SMALL LETTER O WITH DIAERESIS}rg": hash_password(password)})
    assert await owner(users, pair("j\xf6rg", password)) == "basic:j\xf6rg"


@pytest.mark.parametrize(
    "evidence",
    [
        pair(password="wrong"),  # noqa: S106 - of a test
        pair(password=""),
        pair("bob"),
        pair("Alice"),
        pair(""),
        pair(password="s3cret\x00"),  # noqa: S106 - of a test
        pair("alice\n"),
        raw(b"alice"),
        raw(b""),
        raw(b"\xff:\xff"),
        showing("Basic"),
        showing("Basic  "),
        showing("Basic alice:s3cret"),
        showing("Basic !!!"),
        showing("Basic YWxpY2U6czNjcmV0,Basic YWxpY2U6czNjcmV0"),
        showing("Basic \xe9"),
        showing(f"Basic {'a' * 4097}"),
    ],
)
async def test_anything_else_is_not(evidence: Evidence) -> None:
    assert await refusal(BasicUsers({"alice": HASH}), evidence)


@pytest.mark.parametrize("header", [None, "", "Bearer abc", "Basically YTpi"])
async def test_who_shows_nothing_of_the_kind_is_not_judged(header: str | None) -> None:
    assert await BasicUsers({"alice": HASH}).authenticate(showing(header)) is None


async def test_a_pair_is_hashed_once_a_minute() -> None:
    clock = FakeClock()
    asked: list[str] = []

    def check(user: str, password: str) -> str | None:
        asked.append(user)
        return user if password == "s3cret" else None  # noqa: S105 - of a test

    users = BasicUsers(check, clock=clock)
    for _ in range(3):
        assert await owner(users, pair())
    assert asked == ["alice"]
    # What is wrong is not remembered, and what is right under another name is not mixed up.
    for _ in range(2):
        await refusal(users, pair(password="wrong"))  # noqa: S106 - of a test
    assert await owner(users, pair("bob")) == "basic:bob"
    assert asked == ["alice", "alice", "alice", "bob"]
    clock.advance(60)
    assert await owner(users, pair())
    assert len(asked) == 5


async def test_a_function_may_know_the_users() -> None:
    bob = Principal(owner="bob", scopes=frozenset({"x"}))

    async def check(user: str, password: str) -> Principal | None:
        return bob if (user, password) == ("bob", "x") else None

    users = BasicUsers(check)
    assert await users.authenticate(pair("bob", "x")) is bob
    assert await refusal(users, pair("bob", "y"))


async def test_users_of_a_file_are_known_until_it_changes(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys.json", FakeClock()
    key = replace(RECORD, id="k", hash=digest_of("s3cret"), owner="carol")
    change_keys(path, lambda _: (replace(RECORD, scopes=("read",)), key))
    users = BasicUsers(path, clock=clock)
    found = await users.authenticate(pair())
    assert found is not None
    assert (found.owner, found.scopes) == ("basic:alice", {"read"})
    # An API key is no password, whatever the file says of its owner.
    for name in ("k", "carol"):
        assert await refusal(users, pair(name))
    change_keys(path, lambda known: (replace(known[0], revoked=RECORD.created),))
    clock.advance(1)
    assert await refusal(users, pair())
    await users.flush()
    assert read_uses(path) == {"alice": "2026-01-01T00:00:00.000Z"}


async def test_guessing_takes_nobody_elses_place() -> None:
    users = BasicUsers({"alice": HASH})
    assert await owner(users, pair())
    guesses = (users.authenticate(pair(password=f"guess-{n}")) for n in range(40))
    guessing = asyncio.gather(*guesses, return_exceptions=True)
    # Who was let in before is let in meanwhile.
    assert await owner(users, pair()) == "basic:alice"
    found = await guessing
    assert sum(isinstance(one, UnavailableError) for one in found) == 40 - 32


async def test_a_user_whom_nobody_knows_is_hashed_for_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed: list[str] = []

    def is_password(password: str, kept: str) -> bool:
        hashed.append(kept)
        return False

    monkeypatch.setattr("dragoman.auth.incoming.basic.is_password", is_password)
    users = BasicUsers({"alice": HASH})
    await refusal(users, pair("alice"))
    await refusal(users, pair("nobody"))
    assert hashed == [HASH, DECOY]


def test_passwords_are_not_given_as_they_are() -> None:
    with pytest.raises(UsageError, match="must come from hash_password"):
        BasicUsers({"alice": "s3cret"})
    for user in ("", "a:b"):
        with pytest.raises(UsageError, match="is no user"):
            BasicUsers({user: HASH})


def test_the_card_tells_of_it() -> None:
    users = BasicUsers({}, name="login", description="Ask us.")
    scheme = users.scheme.http_auth_security_scheme
    assert scheme is not None
    assert (scheme.scheme, scheme.description, users.name) == ("Basic", "Ask us.", "login")
    assert users.challenge == 'Basic realm="a2a", charset="UTF-8"'
