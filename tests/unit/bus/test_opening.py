import sys

import pytest

from dragoman.bus.nats.bus import NatsBus
from dragoman.bus.opening import open_bus
from dragoman.bus.postgres import PostgresBus
from dragoman.errors import UsageError

DATABASE = "postgres://user:secret@localhost/agents"


@pytest.mark.parametrize("store", ["memory:", "sqlite:///tasks.db"])
def test_a_process_alone_has_nobody_to_tell(store: str) -> None:
    assert open_bus("", store=store) is None
    with pytest.raises(UsageError, match="one PostgreSQL"):
        open_bus("nats://localhost", store=store)


@pytest.mark.parametrize("store", [DATABASE, DATABASE.replace("postgres:", "postgresql:")])
def test_a_database_is_its_own_bus(store: str) -> None:
    assert isinstance(open_bus("", store=store), PostgresBus)


def test_another_database_may_be_the_bus() -> None:
    assert isinstance(open_bus("postgres://other/db", store=DATABASE), PostgresBus)


@pytest.mark.parametrize("url", ["nats://localhost", "nats://a:1,nats://b:2", "tls://nats.example"])
def test_nats_is_found_by_its_scheme(url: str) -> None:
    assert isinstance(open_bus(url, store=DATABASE), NatsBus)


@pytest.mark.parametrize("url", ["redis://:secret@localhost", "localhost:4222", "secret"])
def test_another_address_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"bus: .* known: nats://") as caught:
        open_bus(url, store=DATABASE)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "module", "library", "extra"),
    [
        ("nats://localhost", "dragoman.bus.nats.bus", "nats.errors", "nats"),
        ("", "dragoman.bus.postgres", "asyncpg", "postgres"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, library: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=rf"pip install 'dragoman\[{extra}\]'"):
        open_bus(url, store=DATABASE)
