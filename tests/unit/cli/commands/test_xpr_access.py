"""What the commands to agents of the XPR network go by, and what is set wrong for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.scenarios.xpr import ALICE

NODE = "https://node.example"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("XPR_RPC_ENDPOINT", "", "no node of the chain is named"),
        ("XPR_ACCOUNT", "", "XPR_ACCOUNT is not"),
        ("XPR_ACCOUNT", "Alice", "'Alice' is no account"),
        ("XPR_NETWORK", "moon", "it is mainnet or testnet"),
        ("XPR_PRIVATE_KEY", "5nonsense", "XprSigner"),
    ],
)
@pytest.mark.parametrize("command", [("send", "pilot", "ahoy"), ("mcp",)])
def test_what_is_set_wrong_is_named(
    tmp_path: Path, command: tuple[str, ...], name: str, value: str, words: str
) -> None:
    variables = {
        "XPR_RPC_ENDPOINT": NODE,
        "XPR_ACCOUNT": "alice",
        "XPR_PRIVATE_KEY": ALICE.wif,
        name: value,
    }
    refused = Cli(tmp_path)("xpr", *command, **variables)
    assert refused.code == 2
    assert words in refused.out + refused.err
    # The key is shown to nobody.
    assert ALICE.wif not in refused.out + refused.err
    assert value == "" or name != "XPR_PRIVATE_KEY" or value not in refused.out + refused.err


def test_the_time_that_is_set_is_how_long_an_agent_is_waited_for(tmp_path: Path) -> None:
    # Nobody answers there: the time is over before the chain is.
    late = Cli(tmp_path)(
        "xpr", "send", "pilot", "ahoy", "--rpc", "https://10.255.255.1", "--timeout", "1ms"
    )
    assert late.code == 5
