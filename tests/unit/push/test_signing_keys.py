import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from dragoman.auth.cards.keys import read_key
from dragoman.errors import UsageError
from dragoman.push.jwt_signing import key_name, sign_jwt, verified_claims
from dragoman.push.signing_keys import KEPT_SECONDS, LEAD_SECONDS, SigningKeys
from dragoman.testing.clock import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "push.jwks"


def kids(keys: SigningKeys) -> list[str]:
    published = msgspec.convert(keys.jwks()["keys"], list[dict[str, str]])
    return [each["kid"] for each in published]


def signed(keys: SigningKeys) -> str:
    return sign_jwt(
        b"{}",
        keys.current.key,
        kid=keys.current.kid,
        url="https://me.example/",
        task_id="t-1",
        notification_id="n-1",
        now_ms=0,
    )


def kid_of(token: str) -> str:
    return key_name(token, {"ES256"})


def is_verified(token: str, keys: SigningKeys) -> bool:
    """Verify as a receiver does, by what is published."""
    kid = kid_of(token)
    published = msgspec.convert(keys.jwks()["keys"], list[dict[str, str]])
    found = tuple(read_key(each) for each in published if each["kid"] == kid)
    return bool(found) and verified_claims(token, found, {"ES256"}).jti == "n-1"


def test_the_first_key_is_made_when_it_is_needed_for_its_owner_alone(path: Path) -> None:
    keys = SigningKeys(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_verified(signed(keys), keys)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_same_keys_are_read_again(path: Path) -> None:
    assert kids(SigningKeys(path)) == kids(SigningKeys(path))


def test_what_is_published_has_no_private_part(path: Path) -> None:
    (published,) = msgspec.convert(SigningKeys(path).jwks()["keys"], list[dict[str, str]])
    assert set(published) == {"kty", "crv", "x", "y", "kid", "use", "alg"}
    assert (published["kty"], published["crv"], published["alg"]) == ("EC", "P-256", "ES256")


def test_a_new_key_is_published_before_it_signs(path: Path) -> None:
    clock = FakeClock()
    keys = SigningKeys(path, clock=clock)
    before, token = keys.current.kid, signed(keys)
    keys.rotate()
    assert keys.newest.kid != before
    assert kids(keys) == [keys.newest.kid, before]
    # Receivers have yet to hear of it.
    assert keys.current.kid == before
    clock.advance(LEAD_SECONDS)
    assert keys.current == keys.newest
    assert is_verified(token, keys)
    assert is_verified(signed(keys), keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_goes_when_nothing_is_about_that_it_has_signed(path: Path) -> None:
    clock = FakeClock()
    keys = SigningKeys(path, clock=clock)
    first, token = keys.newest.kid, signed(keys)
    # However long it has signed: what counts is when the next one was made.
    clock.advance(2 * KEPT_SECONDS)
    keys.rotate()
    clock.advance(KEPT_SECONDS - 1)
    assert kids(keys) == [keys.newest.kid, first]
    clock.advance(1)
    assert kids(keys) == [keys.newest.kid]
    assert not is_verified(token, keys)
    # It has left the file, too, when that is next written.
    keys.rotate()
    assert first not in path.read_text()


def test_however_often_keys_change_what_is_about_can_be_verified(path: Path) -> None:
    clock = FakeClock()
    keys = SigningKeys(path, clock=clock)
    tokens = [signed(keys)]
    for _ in range(5):
        keys.rotate()
        clock.advance(LEAD_SECONDS)
        tokens.append(signed(keys))
    assert len(set(map(kid_of, tokens))) == 6
    assert all(is_verified(token, keys) for token in tokens)


def test_keys_that_somebody_else_may_have_go_at_once(path: Path) -> None:
    keys = SigningKeys(path)
    token = signed(keys)
    keys.rotate(keeps_old=False)
    assert kids(keys) == [keys.newest.kid]
    assert keys.current == keys.newest
    assert not is_verified(token, keys)


def test_keys_in_memory_can_do_the_same_and_leave_nothing_behind(tmp_path: Path) -> None:
    keys = SigningKeys(None)
    token = signed(keys)
    keys.rotate()
    keys.refresh()
    assert len(kids(keys)) == 2
    assert is_verified(token, keys)
    assert is_verified(signed(keys), keys)
    assert not list(tmp_path.iterdir())


def test_an_agent_that_runs_learns_of_new_keys(path: Path) -> None:
    running, operator = SigningKeys(path), SigningKeys(path)
    operator.rotate()
    assert running.newest.kid != operator.newest.kid
    running.refresh()
    assert kids(running) == kids(operator)


def test_keys_are_kept_when_the_file_is_spoiled(path: Path) -> None:
    keys = SigningKeys(path)
    known = kids(keys)
    path.write_text("{")
    with pytest.raises(UsageError, match="is no set of private keys"):
        keys.refresh()
    path.unlink()
    with pytest.raises(UsageError, match="cannot read"):
        keys.refresh()
    assert kids(keys) == known


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
def test_a_file_that_others_can_read_is_refused(path: Path) -> None:
    SigningKeys(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        SigningKeys(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"keys": []}',
        '{"keys": [{"kty": "RSA", "kid": "a"}]}',
        '{"keys": [{"kty": "EC", "crv": "P-384", "x": "a", "y": "a", "d": "a", "kid": "a"}]}',
        # A public key, and one that is no point of the curve.
        '{"keys": [{"kty": "EC", "crv": "P-256", "x": "a", "y": "a", "kid": "a"}]}',
        '{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "AA", "kid": "a"}]}',
    ],
)
def test_what_is_no_set_of_keys_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "push.jwks"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(UsageError, match=r"push\.jwks (is no set|has a key)"):
        SigningKeys(path)


def test_where_nothing_can_be_written_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot"):
        SigningKeys(tmp_path / "file" / "push.jwks")


def test_what_is_there_already_is_never_replaced_by_a_first_key(tmp_path: Path) -> None:
    # A link to a volume that is not mounted: for the time being, there is no file.
    path = tmp_path / "push.jwks"
    path.symlink_to(tmp_path / "volume" / "push.jwks")
    with pytest.raises(UsageError, match="cannot read"):
        SigningKeys(path)
    assert path.is_symlink()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_of_several_that_start_together_one_makes_the_key(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from dragoman.push.signing_keys import SigningKeys; "
        "print(SigningKeys(Path(sys.argv[1])).newest.kid)"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    names = {process.communicate(timeout=30)[0] for process in started}
    assert [process.returncode for process in started] == [0] * 4
    assert len(names) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]
