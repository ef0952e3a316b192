import json

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, card


def test_the_bytes_are_those_of_the_agent(cli: Cli, fake: FakeAgent) -> None:
    fake.card = b'{ "extra" : 1.50, ' + json.dumps(card(fake.url)).encode()[1:]
    assert '"extra": 1.50' in cli("card", "get", "-o", "json").out


@pytest.mark.parametrize("status", [403, 500])
def test_a_card_that_is_refused_is_told(cli: Cli, fake: FakeAgent, status: int) -> None:
    fake.card_status = status
    assert cli("card", "get").code in (1, 4)


def test_a_card_that_wants_to_know_who_asks_is_told(cli: Cli, fake: FakeAgent) -> None:
    fake.card_status = 401
    fake.card_headers = {"WWW_Authenticate": "Bearer"}
    result = cli("card", "get", "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert "--card-auth" in result.error["hint"]
