from pathlib import Path

import pytest

from tests.cli.calling import Cli


@pytest.mark.parametrize("command", [("mcp", "serve"), ("xpr", "mcp")])
@pytest.mark.parametrize("place", ["8765", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(
    tmp_path: Path, command: tuple[str, ...], place: str
) -> None:
    refused = Cli(tmp_path)(*command, "--http", place)
    assert refused.code == 2
    assert "--http needs HOST:PORT" in refused.err


@pytest.mark.parametrize("command", [("mcp", "serve"), ("xpr", "mcp")])
def test_others_are_not_served_unless_that_is_said(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    refused = Cli(tmp_path)(*command, "--http", "0.0.0.0:0")
    assert refused.code == 2
    assert "add --allow-anonymous" in refused.err
