import json

import pytest

from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.directory import XprDirectory, account_in
from dragoman.extensions.xpr.errors import AgentNotFoundError, MalformedError, WrongCardError
from dragoman.extensions.xpr.presence import IDENTITY
from dragoman.testing.chain import FakeChain

DECLARED = {"extensions": [{"uri": "x"}, {"uri": IDENTITY, "params": {"xpr:account": "pilot"}}]}


def listing(*rows: AgentRow) -> XprDirectory:
    chain = FakeChain()
    for row in rows:
        chain.register(row)
    return XprDirectory(chain)


async def test_an_agent_is_found_where_the_chain_says() -> None:
    row = AgentRow(account="pilot", endpoint="https://pilot.example/", active=True)
    assert await listing(row).find("pilot") == "https://pilot.example"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (AgentRow(account="other"), "Agent 'pilot' not found on-chain"),
        (AgentRow(account="pilot", endpoint="https://a.example"), "Agent 'pilot' is not active"),
        (AgentRow(account="pilot", active=True), "Agent 'pilot' has no endpoint configured"),
    ],
)
async def test_who_cannot_be_called_is_not_found(row: AgentRow, words: str) -> None:
    with pytest.raises(AgentNotFoundError) as caught:
        await listing(row).find("pilot")
    assert str(caught.value) == words


async def test_what_is_no_account_is_not_looked_up() -> None:
    with pytest.raises(MalformedError):
        await listing().find("//pilot.example")


@pytest.mark.parametrize(
    ("card", "account"),
    [
        ({"xpr:account": "pilot", "capabilities": {}}, "pilot"),
        ({"capabilities": DECLARED}, "pilot"),
        ({"capabilities": {}}, ""),
        ({"xpr:account": 7, "capabilities": {}}, ""),
        ({"capabilities": {"extensions": [{"uri": IDENTITY}]}}, ""),
        ([], ""),
    ],
)
def test_a_card_names_its_account(card: object, account: str) -> None:
    document = json.dumps(card).encode()
    assert account_in(document) == account
    directory = listing()
    directory.check("pilot", document)
    # Requests name the account that was asked for, if the agent knows of such things.
    assert directory.marks("pilot", document) == ({"xpr:targetAccount": "pilot"} if account else {})
    if account:
        with pytest.raises(WrongCardError, match="'ship' has the card of 'pilot'"):
            directory.check("ship", document)
