import pytest

from dragoman.cli.commands import transport
from tests.cli.calling import Cli


def test_a_binding_that_is_not_installed_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "is_installed", lambda: False)
    shown = cli("transport", "list").fields("Transport")
    assert shown == ["JSONRPC", "HTTP+JSON", "GRPC (not installed)"]
    rows = cli("transport", "list", "-o", "json").json["transports"]
    assert rows[-1] == {"name": "GRPC", "isInstalled": False}
