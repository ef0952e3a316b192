"""AUTH_009: mutual TLS, by a certificate that the user names."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.cli.test_card import published
from tests.support.server.certificates import Files, write_files
from tests.support.serving import AgentProcess

DESK = Path(__file__).parents[2] / "examples" / "desk" / "agent.py"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """An authority, and the certificates that it has signed."""
    found = write_files(tmp_path_factory.mktemp("tls"))
    Path(found.client_key).chmod(0o600)
    return found


@pytest.fixture(scope="module")
def demanding(files: Files) -> Iterator[str]:
    """An agent that serves only whom the authority knows."""
    flags = ("--tls-cert", files.server, "--tls-key", files.server_key, "--advertise", "grpc")
    with AgentProcess(DESK, *flags, "--tls-client-ca", files.ca, "--store", "memory:") as process:
        yield process.url.replace("http://", "https://")


@pytest.fixture
def known(alone: Cli, demanding: str, files: Files, binding: str) -> Cli:
    """The command line that shows a certificate, over each binding in turn."""
    shown = ("--client-cert", files.client, "--client-key", files.client_key)
    return Cli(alone.folder, "-a", demanding, "--ca-cert", files.ca, "--transport", binding, *shown)


def test_auth_009_the_certificate_is_shown_for_the_card_and_for_calls(
    known: Cli, binding: str
) -> None:
    result = known("send", "hello", "-o", "json", "--debug")
    assert result.code == 0, result.err
    assert f"* interface {binding} 1.0 " in result.err
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert known("card", "get").field("Name") == "Desk"
    task_id = result.json["task"]["id"]
    assert known("task", "get", task_id).code == 0
    assert "PRIVATE" not in result.out + result.err


def test_auth_009_without_a_certificate_nobody_is_served(
    alone: Cli, demanding: str, files: Files
) -> None:
    result = alone("send", "hello", "-a", demanding, "--ca-cert", files.ca, "-o", "json")
    assert (result.code, result.error["code"]) == (3, "A2ACLI_ERR_UNREACHABLE")


def test_auth_009_the_environment_may_name_it(alone: Cli, demanding: str, files: Files) -> None:
    variables = {
        "A2ACLI_CLIENT_CERT": files.client,
        "A2ACLI_CLIENT_KEY": files.client_key,
        "A2ACLI_CA_CERT": files.ca,
    }
    assert alone("send", "hello", "-a", demanding, **variables).code == 0


def test_auth_009_a_card_of_the_user_s_own_will_do(
    known: Cli, alone: Cli, files: Files, binding: str
) -> None:
    (alone.folder / "card.json").write_text(known("card", "get", "-o", "json").out)
    shown = ("--client-cert", files.client, "--client-key", files.client_key)
    flags = ("--ca-cert", files.ca, "--transport", binding, *shown)
    assert alone("send", "hello", "-a", "./card.json", *flags).code == 0


def test_auth_009_the_whole_checker_goes_through(known: Cli, binding: str) -> None:
    result = known("conformance", "-o", "json")
    assert result.code == 0
    assert {row["binding"] for row in result.json["checks"]} == {"", binding}
    assert result.json["summary"]["fail"] == 0


def test_auth_009_the_certificate_is_shown_to_the_agent_alone(
    alone: Cli, stage: str, demanding: str, files: Files
) -> None:
    """A card of somebody else points to the agent: who holds the certificate is not told."""
    found = published(stage)
    found["supportedInterfaces"] = [
        {"url": f"{demanding}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    place = alone.folder / "card.json"
    place.write_text(json.dumps(found))
    with AgentProcess(None, "--card", str(place)) as elsewhere:
        shown = ("--client-cert", files.client, "--client-key", files.client_key)
        flags = ("-a", elsewhere.url, "--ca-cert", files.ca, *shown)
        result = alone("send", "hello", *flags, "-o", "json")
    assert "a credential is not sent: the ClientCertificate is for" in result.err
    assert (result.code, result.error["code"]) == (3, "A2ACLI_ERR_UNREACHABLE")


@pytest.mark.parametrize("flag", ["--client-cert", "--client-key"])
def test_auth_009_certificate_and_key_go_together(alone: Cli, files: Files, flag: str) -> None:
    result = alone("send", "x", "-a", "http://127.0.0.1:9", flag, files.client, "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")


def test_auth_009_a_key_that_others_can_read_is_told(
    alone: Cli, demanding: str, files: Files
) -> None:
    key = alone.folder / "open.pem"
    shutil.copy(files.client_key, key)
    key.chmod(0o644)
    shown = ("--client-cert", files.client, "--client-key", "open.pem")
    result = alone("card", "get", demanding, "--ca-cert", files.ca, *shown)
    assert result.code == 0
    assert f"other users can read {key}: chmod 600 {key}" in result.err


def test_auth_009_files_that_cannot_be_used_are_told(alone: Cli, demanding: str) -> None:
    (alone.folder / "bad.pem").write_text("nonsense")
    for path in ("nowhere.pem", "bad.pem"):
        flags = ("--client-cert", path, "--client-key", path)
        result = alone("send", "x", "-a", demanding, *flags, "-o", "json")
        assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
        assert path in result.error["message"]
