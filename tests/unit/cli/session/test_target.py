from pathlib import Path

import pytest

from dragoman.cli.options.options import (
    A2A_VERSION,
    AGENT_CARD,
    CA_CERT,
    ENDPOINT,
    INSECURE,
    LEGACY,
    STRICT,
    TENANT,
    TRANSPORT,
    Option,
)
from dragoman.cli.options.settings import Given
from dragoman.cli.session.target import Target, target_of, tls_of
from dragoman.errors import UsageError
from dragoman.model.cards import AgentInterface
from tests.unit.cli.options.test_settings import read


def given(option: Option[object], text: str = "true") -> Given:
    return Given(option, text, option.flags[0])


AGENT = given(AGENT_CARD, "agent.example")
URL = given(ENDPOINT, "https://agent.example/rpc")
RPC = given(TRANSPORT, "jsonrpc")


def test_an_agent_is_spoken_to_as_its_card_declares_unless_told(tmp_path: Path) -> None:
    assert target_of(read(tmp_path, AGENT), tmp_path) == Target("agent.example", None, ())
    legacy = target_of(read(tmp_path, AGENT, given(LEGACY)), tmp_path)
    assert (legacy.version, legacy.downgrade) == (None, True)
    assert target_of(read(tmp_path, AGENT, given(STRICT)), tmp_path).version == "1.0"
    named = target_of(read(tmp_path, AGENT, given(LEGACY), given(A2A_VERSION, "0.2")), tmp_path)
    assert named.version == "0.2"


def test_bindings_that_are_not_known_are_passed_over(tmp_path: Path) -> None:
    wishes = (given(TRANSPORT, "https://mine.example"), given(TRANSPORT, "rest"), RPC)
    assert target_of(read(tmp_path, AGENT, *wishes), tmp_path).bindings == ("HTTP+JSON", "JSONRPC")


def test_what_exists_is_a_file_and_no_host(tmp_path: Path) -> None:
    (tmp_path / "agent.example").touch()
    assert target_of(read(tmp_path, AGENT), tmp_path).address == tmp_path / "agent.example"
    other = target_of(read(tmp_path, given(AGENT_CARD, "./none.json")), tmp_path)
    assert other.address == tmp_path / "none.json"


def test_an_endpoint_is_an_interface(tmp_path: Path) -> None:
    target = target_of(read(tmp_path, URL, RPC, given(TENANT, "acme")), tmp_path)
    assert target.address == AgentInterface(
        url="https://agent.example/rpc",
        protocol_binding="JSONRPC",
        protocol_version="1.0",
        tenant="acme",
    )


def test_the_stronger_source_names_the_agent(tmp_path: Path) -> None:
    environment = {"A2ACLI_AGENT_CARD": "agent.example"}
    found = target_of(read(tmp_path, URL, RPC, environment=environment), tmp_path)
    assert isinstance(found.address, AgentInterface)
    environment = {"A2ACLI_ENDPOINT": "https://agent.example/rpc"}
    found = target_of(read(tmp_path, AGENT, environment=environment), tmp_path)
    assert found.address == "agent.example"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "which agent"),
        ((AGENT, URL, RPC), "exclude each other"),
        ((URL,), "exactly one --transport"),
        ((URL, RPC, given(TRANSPORT, "grpc")), "exactly one --transport"),
        ((URL, given(TRANSPORT, "https://mine.example")), "exactly one --transport"),
        ((AGENT, given(TENANT, "acme")), "--tenant is for --endpoint"),
    ],
)
def test_an_agent_must_be_named_clearly(
    tmp_path: Path, flags: tuple[Given, ...], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        target_of(read(tmp_path, *flags), tmp_path)


def test_whom_to_trust_is_read_from_the_folder(tmp_path: Path) -> None:
    tls = tls_of(read(tmp_path, given(CA_CERT, "ca.pem"), given(INSECURE)), tmp_path)
    assert (tls.ca_file, tls.is_insecure) == (tmp_path / "ca.pem", True)
    assert tls_of(read(tmp_path), tmp_path).ca_file is None
