import json
from pathlib import Path

import pytest

from dragoman.client.discovery.catalogs import Entry, find_entry, has_origin, read_entries
from dragoman.client.errors import CatalogError
from dragoman.errors import UsageError

CARD = "application/a2a-agent-card+json"


def agent(identifier: str, name: str = "", version: str = "") -> Entry:
    return Entry(
        identifier=identifier,
        type=CARD,
        display_name=name,
        version=version,
        url="https://a.example/",
        place="c.json",
    )


def read(*entries: object) -> list[Entry | str]:
    content = json.dumps({"specVersion": "1.0", "entries": entries}).encode()
    return list(read_entries(content, "https://c.example/c.json"))


def test_entries_are_read_with_their_place() -> None:
    (entry,) = read({"identifier": "a:b", "mediaType": f"{CARD}; v=1", "url": "x", "more": 1})
    assert isinstance(entry, Entry)
    assert (entry.identifier, entry.is_agent) == ("a:b", True)
    assert entry.place == "https://c.example/c.json"


@pytest.mark.parametrize(
    ("entry", "finding"),
    [
        ({"identifier": "a"}, "it needs either url or data"),
        ({"identifier": "a", "url": "x", "data": {}}, "it needs either url or data"),
        ({"url": "x"}, "missing required field `identifier`"),
        ({"identifier": 7, "url": "x"}, "Expected `str`, got `int`"),
    ],
)
def test_one_that_is_wrong_is_told_with_its_number(entry: object, finding: str) -> None:
    good, told = read({"identifier": "a:b", "url": "x"}, entry)
    assert isinstance(good, Entry)
    assert isinstance(told, str)
    assert told.startswith("https://c.example/c.json: entries[1] is left out: ")
    assert finding in told


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"entries": {}}', b"\xff"])
def test_what_is_no_catalog_is_refused(content: bytes) -> None:
    with pytest.raises(CatalogError, match="is no catalog"):
        list(read_entries(content, "c.json"))


def test_an_entry_is_found_by_the_surest_name_first() -> None:
    entries = [agent("x:bot", "other"), agent("bot", "x"), agent("y:z", "x:bot")]
    assert find_entry(entries, "bot", "c").identifier == "bot"
    assert find_entry(entries, "x:bot", "c").identifier == "x:bot"
    assert find_entry(entries, "other", "c").identifier == "x:bot"
    assert find_entry(entries, "z", "c").identifier == "y:z"


def test_several_of_a_name_are_told() -> None:
    with pytest.raises(UsageError, match="'bot' could be any of x:bot 1, y:bot 2 in c"):
        find_entry([agent("x:bot", version="1"), agent("y:bot", version="2")], "bot", "c")


def test_none_of_a_name_is_told() -> None:
    with pytest.raises(CatalogError, match="has no agent 'bot'"):
        find_entry([Entry(identifier="bot", type="text/plain", url="x")], "bot", "c")


@pytest.mark.parametrize(
    ("place", "url", "target"),
    [
        ("https://c.example/a/c.json", "card.json", "https://c.example/a/card.json"),
        ("https://c.example/c.json", "https://a.example/", "https://a.example/"),
        # Its own origin need not be https.
        ("http://127.0.0.1:1/c.json", "/card", "http://127.0.0.1:1/card"),
        ("/home/me/c.json", "card.json", Path("/home/me/card.json")),
        ("/home/me/c.json", "file:///card.json", Path("/card.json")),
        ("/home/me/c.json", "http://a.example/", "http://a.example/"),
    ],
)
def test_where_an_entry_leads(place: str, url: str, target: str | Path) -> None:
    assert Entry(identifier="a", url=url, place=place).target() == target


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://a.example/", "http://127.0.0.1/", "ftp://a.example/x"]
)
def test_a_catalog_of_the_network_must_not_lead_just_anywhere(url: str) -> None:
    entry = Entry(identifier="a", url=url, place="https://c.example/c.json")
    with pytest.raises(UsageError, match="must not lead to"):
        entry.target()


def test_origins_are_compared_with_their_ports() -> None:
    assert has_origin("https://a.example/x", "https://a.example:443")
    assert not has_origin("https://a.example", "http://a.example")
    assert not has_origin("file:///x", "file:///x")
