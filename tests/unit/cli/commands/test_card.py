import json

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, card


def test_an_endpoint_has_no_card(cli: Cli) -> None:
    alone = Cli(cli.folder)
    result = alone("card", "get", "-e", "http://127.0.0.1:1", "--transport", "rest")
    assert result.code == 2
    assert "an --endpoint has no card" in result.err


def test_warnings_are_told_here_too(cli: Cli) -> None:
    assert (
        "Warning: the certificate of the agent is not verified"
        in cli("card", "get", "--insecure").err
    )


def test_a_card_nobody_can_use_is_shown_all_the_same(cli: Cli, fake: FakeAgent) -> None:
    listed = [{"url": "x://a", "protocolBinding": "SMOKE", "protocolVersion": "9.0"}]
    fake.card = card(fake.url, supportedInterfaces=listed)
    result = cli("card", "get")
    assert result.code == 0
    assert result.field("Selected interface") == "none"


def test_the_tenant_of_the_selected_interface_is_shown(cli: Cli, fake: FakeAgent) -> None:
    found = card(fake.url)
    found["supportedInterfaces"][0]["tenant"] = "acme"
    fake.card = found
    assert cli("card", "get").field("Selected interface").endswith("/ [acme]")


def test_a_card_that_cannot_be_read_is_told(cli: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, supportedInterfaces="none")
    result = cli("card", "get", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "A2ACLI_ERR_CARD_INVALID")


def test_json_is_the_card_and_what_is_known_of_it_is_beside_it(cli: Cli, fake: FakeAgent) -> None:
    result = cli("card", "get", "--validate", "-o", "json")
    assert result.json == fake.card
    assert "Signature: absent" in result.err
    assert json.loads(cli("card", "get", "--stream", "-o", "json").out) == fake.card
