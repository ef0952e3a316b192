import pytest

from dragoman.auth.incoming.passwords import DECOY, check_hash, hash_password, is_password
from dragoman.errors import UsageError

KEPT = hash_password("correct horse")


def test_the_right_password_is_recognised_and_no_other() -> None:
    assert is_password("correct horse", KEPT)
    for wrong in ("", "correct hors", "Correct horse", "correct horse ", "x" * 1025):
        assert not is_password(wrong, KEPT)


def test_what_is_kept_tells_nothing_and_differs_each_time() -> None:
    assert "horse" not in KEPT
    again = hash_password("correct horse")
    assert again != KEPT
    assert is_password("correct horse", again)
    assert KEPT.startswith("scrypt:16384:8:5:")


def test_letters_of_any_script_are_letters() -> None:
    assert is_password("p\N{LATIN SMALL LETTER A WITH DIAERESIS}ss", hash_password("p\xe4ss"))


def test_nobody_has_the_password_of_the_decoy() -> None:
    check_hash(DECOY)
    assert not is_password("", DECOY)


@pytest.mark.parametrize("password", ["", pytest.param("x" * 1025, id="too long")])
def test_a_password_has_a_length(password: str) -> None:
    with pytest.raises(UsageError, match="1 to 1024 bytes"):
        hash_password(password)


@pytest.mark.parametrize(
    "kept",
    [
        "s3cret",
        "",
        "bcrypt:1:1:1:AA==:AA==",
        "scrypt:16384:8:5:AA==:AA==",
        DECOY.replace("16384", "0"),
        DECOY.replace("16384", "-1"),
        # As much memory as a small machine has.
        DECOY.replace("16384", str(1 << 30)),
        DECOY.replace("16384", "many"),
        f"{DECOY}:",
        DECOY[:-5] + "\N{EURO SIGN}",
    ],
)
def test_what_is_no_hash_is_refused_without_repeating_it(kept: str) -> None:
    with pytest.raises(UsageError, match="must come from hash_password") as caught:
        check_hash(kept)
    assert "s3cret" not in str(caught.value)
