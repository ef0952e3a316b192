import sys

import pytest

from dragoman.bus.nats.bus import NatsBus
from dragoman.bus.opening import open_bus
from dragoman.bus.postgres import PostgresBus
from dragoman.errors import UsageError

DATABASE = "postgres://user:secret@localhost/agents"


@pytest.mark.parametrize("url", [DATABASE, DATABASE.replace("postgres:", "postgresql:")])
def test_a_database_may_be_the_bus(url: str) -> None:
    assert isinstance(open_bus(url), PostgresBus)


@pytest.mark.parametrize("url", ["nats://localhost", "nats://a:1,nats://b:2", "tls://nats.example"])
def test_nats_is_found_by_its_scheme(url: str) -> None:
    assert isinstance(open_bus(url), NatsBus)


@pytest.mark.parametrize("url", ["redis://:secret@localhost", "localhost:4222", "secret"])
def test_another_address_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"bus: .* known: nats://") as caught:
        open_bus(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "module", "library", "extra"),
    [
        ("nats://localhost", "dragoman.bus.nats.bus", "nats.errors", "nats"),
        (DATABASE, "dragoman.bus.postgres", "asyncpg", "postgres"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, library: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=rf"pip install 'dragoman\[{extra}\]'"):
        open_bus(url)
