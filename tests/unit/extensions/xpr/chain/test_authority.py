"""Who may sign for an account, read from what a real node has answered."""

import msgspec
import pytest

from dragoman.extensions.xpr.chain.authority import Account, Authority
from dragoman.extensions.xpr.crypto.keys import PublicKey
from tests.support.chain_double import VECTORS, recorded

ONE, TWO = (PublicKey.read(pair["pub"]) for pair in VECTORS["keys"][:2])


def account(name: str) -> Account:
    return msgspec.convert(recorded(f"account-{name}")[1], Account)


def test_a_plain_account() -> None:
    assert account("alice").authority("active") == Authority(1, ((ONE, 1),))
    assert account("alice").authority("elsewhere") is None


def test_keys_that_need_each_other_cannot_sign_alone() -> None:
    found = account("multi").authority("active")
    assert found is not None
    assert (found.threshold, len(found.keys)) == (2, 2)
    assert found.signers(honours_weights=True) == ()
    assert set(found.signers(honours_weights=False)) == {ONE, TWO}


def test_an_account_of_r1_and_one_of_a_link_alone() -> None:
    webby, linked = account("webby").authority("active"), account("linked").authority("active")
    assert webby is not None
    assert linked is not None
    assert webby.signers(honours_weights=True)[0].curve == "R1"
    assert linked.keys == ()


@pytest.mark.parametrize(("weight", "may_sign"), [(1, False), (2, True), (3, True)])
def test_a_key_must_reach_the_threshold(weight: int, *, may_sign: bool) -> None:
    authority = Authority(2, ((ONE, weight), (TWO, 1)))
    assert (ONE in authority.signers(honours_weights=True)) is may_sign


def test_keys_of_other_kinds_are_left_out() -> None:
    keys = [{"key": "PUB_WA_x", "weight": 1}, {"key": ONE.legacy_text, "weight": 1}]
    required = {"threshold": 1, "keys": keys}
    stated = {
        "account_name": "alice",
        "permissions": [{"perm_name": "active", "required_auth": required}],
    }
    found = msgspec.convert(stated, Account).authority("active")
    assert found == Authority(1, ((ONE, 1),))
