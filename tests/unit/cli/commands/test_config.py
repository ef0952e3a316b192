from tests.cli.calling import Cli


def test_every_setting_has_a_line(cli: Cli) -> None:
    lines = cli("config", "show", A2ACLI_TIMEOUT="1m").out.splitlines()
    assert "timeout: 60s (A2ACLI_TIMEOUT)" in lines
    assert "bearer: - (built-in)" in lines
    assert not [line for line in lines if line.startswith(("stream:", "config:"))]


def test_every_setting_has_an_object(cli: Cli) -> None:
    found = cli("config", "show", "-o", "json", A2ACLI_TIMEOUT="1m").json
    (row,) = [row for row in found["settings"] if row["name"] == "timeout"]
    assert row == {
        "name": "timeout",
        "envVar": "A2ACLI_TIMEOUT",
        "value": "60s",
        "source": "environment",
        "path": "A2ACLI_TIMEOUT",
    }


def test_what_is_not_taken_is_told(cli: Cli) -> None:
    found = cli("config", "show", "-o", "json", A2ACLI_HELP="1").json
    assert found["ignored"] == [{"envVar": "A2ACLI_HELP", "path": "A2ACLI_HELP"}]


def test_a_value_that_cannot_be_read_is_shown_as_such(cli: Cli) -> None:
    assert (
        "timeout: (invalid: A2ACLI_TIMEOUT must be"
        in cli("config", "show", A2ACLI_TIMEOUT="soon").out
    )
