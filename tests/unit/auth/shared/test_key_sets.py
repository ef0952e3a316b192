import json
from pathlib import Path

import pytest

from dragoman.auth.shared.key_sets import NoKeyError, is_in_force, keys_in, read_key, read_set
from dragoman.errors import UsageError
from tests.support.auth.signing_cards import new_key

SMALL = "AQAB" * 40


@pytest.mark.parametrize(
    ("key", "finding"),
    [
        ({"kty": "oct", "k": "c2VjcmV0"}, "a key of type 'oct' is not accepted"),
        ({}, "a key of type None is not accepted"),
        ({"kty": "RSA", "n": SMALL, "e": "AQAB"}, "has at least 2048 bits"),
        ({"kty": "RSA", "n": "\N{EURO SIGN}", "e": "AQAB"}, "has at least 2048 bits"),
        ({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}, "the key cannot be read"),
        ({"kty": "EC"}, "the key cannot be read"),
        ({"kty": "OKP", "crv": "Ed25519", "x": 1}, "the key cannot be read"),
    ],
)
def test_a_key_of_a_kind_that_is_not_accepted_is_told(key: dict[str, object], finding: str) -> None:
    with pytest.raises(NoKeyError, match=finding):
        read_key(key)


def test_a_set_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read no\.json: No such file"):
        read_set("no.json")
    path = tmp_path / "keys.json"
    path.write_text("[]")
    with pytest.raises(UsageError, match="is no key set"):
        read_set(path)


def test_a_set_is_read_as_data_or_as_a_file(tmp_path: Path) -> None:
    found = {"keys": [new_key("ES256")]}
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(found))
    assert read_set(found) == read_set(path) == read_set(str(path)) == found


@pytest.mark.parametrize("keys", [{}, {"keys": {}}, {"keys": [1, "a", None]}])
def test_what_is_no_key_is_left_out_of_a_set(keys: dict[str, object]) -> None:
    assert keys_in(keys) == []


def test_a_key_is_in_force_in_its_time_and_until_it_is_revoked() -> None:
    assert is_in_force({"nbf": 10, "exp": 20}, 10)
    assert not is_in_force({"nbf": 10, "exp": 20}, 9.9)
    assert not is_in_force({"nbf": 10, "exp": 20}, 20)
    assert not is_in_force({"revoked": {}}, 10)
