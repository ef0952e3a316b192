"""Settings by the names that the network has for them."""

import pytest

from dragoman.errors import UsageError
from dragoman.extensions.xpr.settings import XprSettings, load_xpr_settings


def test_what_nobody_has_set() -> None:
    assert load_xpr_settings({}) == XprSettings(
        endpoints=(),
        account="",
        auth_required=True,
        min_kyc_level=0,
        min_trust_score=0,
        rate_limit=20,
        tool_mode="full",
    )


def test_what_was_set() -> None:
    found = load_xpr_settings(
        {
            "XPR_RPC_ENDPOINT": "https://a.example, https://b.example,",
            "XPR_ACCOUNT": "myagent",
            "A2A_AUTH_REQUIRED": "false",
            "A2A_MIN_KYC_LEVEL": "2",
            "A2A_MIN_TRUST_SCORE": "60",
            "A2A_RATE_LIMIT": "5",
            "A2A_TOOL_MODE": "readonly",
        }
    )
    assert found == XprSettings(
        endpoints=("https://a.example", "https://b.example"),
        account="myagent",
        auth_required=False,
        min_kyc_level=2,
        min_trust_score=60,
        rate_limit=5,
        tool_mode="readonly",
    )


@pytest.mark.parametrize("text", ["true", "", "False", "no", "0", "FALSE"])
def test_only_false_lets_unsigned_requests_in(text: str) -> None:
    assert load_xpr_settings({"A2A_AUTH_REQUIRED": text}).auth_required


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("A2A_MIN_KYC_LEVEL", "4"),
        ("A2A_MIN_KYC_LEVEL", "-1"),
        ("A2A_MIN_TRUST_SCORE", "101"),
        ("A2A_MIN_TRUST_SCORE", "high"),
        ("A2A_RATE_LIMIT", "0"),
        ("A2A_RATE_LIMIT", "9" * 5000),
        ("A2A_RATE_LIMIT", "1.5"),
        ("A2A_TOOL_MODE", "all"),
    ],
)
def test_what_cannot_be_set(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=name):
        load_xpr_settings({name: text})


@pytest.mark.parametrize(
    ("variables", "endpoints"),
    [
        ({"XPR_NETWORK": "mainnet"}, ("https://proton.eosusa.io",)),
        ({"XPR_NETWORK": "testnet"}, ("https://tn1.protonnz.com",)),
        (
            {"XPR_NETWORK": "testnet", "XPR_RPC_ENDPOINT": "https://a.example"},
            ("https://a.example",),
        ),
    ],
)
def test_a_network_has_nodes_of_its_own(
    variables: dict[str, str], endpoints: tuple[str, ...]
) -> None:
    assert load_xpr_settings(variables).endpoints == endpoints


def test_a_network_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="XPR_NETWORK is 'moon'"):
        load_xpr_settings({"XPR_NETWORK": "moon"})


def test_a_key_is_read_and_not_shown() -> None:
    found = load_xpr_settings({"XPR_PRIVATE_KEY": "5secret", "XPR_PERMISSION": "agent"})
    assert (found.private_key, found.permission) == ("5secret", "agent")
    assert "5secret" not in repr(found)
    assert load_xpr_settings({}).permission == "active"
