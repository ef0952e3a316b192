from pathlib import Path

from tests.cli.calling import Cli


def test_an_agent_that_is_not_there_is_told(tmp_path: Path) -> None:
    refused = Cli(tmp_path)("mcp", "serve", "http://127.0.0.1:9", "--http", "127.0.0.1:0")
    assert refused.code == 3
