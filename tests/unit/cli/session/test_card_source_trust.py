from tests.cli.calling import Cli


def test_keys_that_cannot_be_read_are_told(cli: Cli) -> None:
    result = cli("card", "get", "--jwks", "none.json", "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")


def test_keys_are_fetched_by_https_alone(cli: Cli) -> None:
    assert cli("card", "get", "--jwks", "http://keys.example/jwks").code == 2
    # Nobody is asked for keys where nothing is signed.
    assert cli("card", "get", "--jwks", "https://keys.example/jwks").code == 0


def test_a_card_without_a_signature_may_be_refused(cli: Cli) -> None:
    result = cli("card", "get", "--require-signature", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "A2ACLI_ERR_CARD_INVALID")
    assert "--jwks" in result.error["hint"]
