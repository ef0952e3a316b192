from pathlib import Path

import pytest

from dragoman.client.discovery.addresses import (
    card_locations,
    file_path,
    grpc_target,
    reachable_url,
)
from dragoman.errors import UsageError

NEW = "/.well-known/agent-card.json"
OLD = "/.well-known/agent.json"


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://agent.example.com", "https://agent.example.com"),
        ("https://agent.example.com/", "https://agent.example.com"),
        ("agent.example.com", "https://agent.example.com"),
        ("agent.example.com:8443", "https://agent.example.com:8443"),
        # Nobody has a certificate for the loopback.
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        (" http://agent.example.com ", "http://agent.example.com"),
    ],
)
def test_an_origin_has_the_card_at_its_well_known_place(address: str, origin: str) -> None:
    assert card_locations(address) == (origin + NEW, origin + OLD)


def test_a_url_may_be_the_card_or_where_the_agent_lives() -> None:
    assert card_locations("https://a.example/agents/x?v=1#top") == (
        "https://a.example/agents/x?v=1",
        f"https://a.example/agents/x{NEW}",
        f"https://a.example/agents/x{OLD}",
        f"https://a.example{NEW}",
        f"https://a.example{OLD}",
    )


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/api/a2a/x", "/api/.well-known/x/agent-card.json"),
        ("/a2a/x/", "/.well-known/x/agent-card.json"),
    ],
)
def test_one_of_many_agents_may_be_named_behind_the_well_known_place(path: str, place: str) -> None:
    *usual, last = card_locations(f"https://a.example{path}")
    assert last == f"https://a.example{place}"
    assert usual[-1] == f"https://a.example{OLD}"


def test_no_place_is_looked_at_twice() -> None:
    found = card_locations(f"https://a.example{NEW}")
    assert len(found) == len(set(found))


@pytest.mark.parametrize("address", ["ftp://a.example", "https://", "http://a:b", "", "http://a:0"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of an agent"):
        card_locations(address)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("file:///srv/my%20card.json", Path("/srv/my card.json")),
        ("/srv/card.json", Path("/srv/card.json")),
        ("./card.json", Path("card.json")),
        ("../card.json", Path("../card.json")),
        ("~/card.json", Path.home() / "card.json"),
        ("agent.example.com", None),
        ("https://agent.example.com/card.json", None),
    ],
)
def test_a_file_is_known_by_its_form(address: str, path: Path | None) -> None:
    assert file_path(address) == path


@pytest.mark.parametrize(
    ("url", "card", "reachable"),
    [
        ("https://a.example/rpc", "https://a.example/c", "https://a.example/rpc"),
        # Another host is another host.
        ("https://b.example/rpc", "https://a.example/c", "https://b.example/rpc"),
        # Relative to the card.
        ("/rpc", "https://a.example/.well-known/agent.json", "https://a.example/rpc"),
        ("", "https://a.example/agents/x", "https://a.example/agents/x"),
        # "This machine", said by another.
        ("http://localhost:9/rpc", "https://a.example/c", "http://a.example:9/rpc"),
        ("http://127.0.0.1/rpc", "http://[2001:db8::1]/c", "http://[2001:db8::1]/rpc"),
        ("http://0.0.0.0:9/", "http://127.0.0.1:8/c", "http://127.0.0.1:9/"),
        # "This machine", said by this machine.
        ("http://localhost:9/rpc", "http://127.0.0.1:8/c", "http://localhost:9/rpc"),
        # From a file: as it is.
        ("http://localhost:9/rpc", "", "http://localhost:9/rpc"),
    ],
)
def test_an_interface_is_reached_from_where_its_card_was(
    url: str, card: str, reachable: str
) -> None:
    assert reachable_url(url, card) == reachable


@pytest.mark.parametrize(
    ("url", "card", "origin"),
    [
        # A bare address on the card's own host is reached as the card was.
        ("a.example:50051", "https://a.example/c", "https://a.example:50051"),
        ("a.example:50051", "http://a.example/c", "http://a.example:50051"),
        ("a.example", "http://a.example/c", "http://a.example:80"),
        # Elsewhere by TLS, but for the loopback.
        ("b.example:50051", "http://a.example/c", "https://b.example:50051"),
        ("b.example", "", "https://b.example:443"),
        ("localhost:50051", "", "http://localhost:50051"),
        ("[::1]:50051", "", "http://[::1]:50051"),
        # A URL says it.
        ("https://b.example/path", "http://a.example/c", "https://b.example:443"),
        ("http://b.example", "https://a.example/c", "http://b.example:80"),
        ("grpc://b.example:1", "https://a.example/c", "http://b.example:1"),
        ("grpcs://b.example", "", "https://b.example:443"),
        # "This machine", said by another.
        ("0.0.0.0:50051", "https://a.example/c", "https://a.example:50051"),
    ],
)
def test_where_grpc_is_reached(url: str, card: str, origin: str) -> None:
    target = grpc_target(url, card)
    assert target is not None
    assert target.origin == origin


@pytest.mark.parametrize("url", ["ftp://b.example", "b.example:port", ":50051"])
def test_what_is_no_address_for_grpc(url: str) -> None:
    assert grpc_target(url, "") is None
