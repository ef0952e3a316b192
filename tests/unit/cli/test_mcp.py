from pathlib import Path

import pytest

from tests.cli.calling import Cli


@pytest.mark.parametrize("place", ["8765", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(cli: Cli, place: str) -> None:
    refused = cli("mcp", "serve", "--http", place)
    assert refused.code == 2
    assert "--http needs HOST:PORT" in refused.err


def test_others_are_not_served_unless_that_is_said(cli: Cli) -> None:
    refused = cli("mcp", "serve", "--http", "0.0.0.0:0")
    assert refused.code == 2
    assert "add --allow-anonymous" in refused.err


def test_an_agent_that_is_not_there_is_told(tmp_path: Path) -> None:
    refused = Cli(tmp_path)("mcp", "serve", "http://127.0.0.1:9", "--http", "127.0.0.1:0")
    assert refused.code == 3
