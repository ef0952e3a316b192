from pathlib import Path

import pytest

from dragoman.client.discovery.catalog_reference import CatalogReference, catalog_reference


@pytest.mark.parametrize(
    ("reference", "catalog", "entry"),
    [
        ("https://c.example/agents.json@bot", "https://c.example/agents.json", "bot"),
        ("https://c.example/@urn:x:bot", "https://c.example/", "urn:x:bot"),
        ("c.example@bot", "c.example", "bot"),
        ("./agents.json@bot", "./agents.json", "bot"),
        # Only the first one counts: identifiers may hold others.
        ("c.example@me@home", "c.example", "me@home"),
        # A password before the host is none of it.
        ("https://me:pw@c.example/a.json@bot", "https://me:pw@c.example/a.json", "bot"),
    ],
)
def test_a_catalog_and_its_entry_are_told_apart(
    tmp_path: Path, reference: str, catalog: str, entry: str
) -> None:
    assert catalog_reference(reference, None, tmp_path) == CatalogReference(catalog, entry)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "agent.example.com",
        "https://agent.example.com",
        "https://me:pw@agent.example.com",
        "https://agent.example.com/users/@somebody/card.json",
        "c.example@",
        "@bot",
        "./card.json",
    ],
)
def test_what_names_an_agent_is_no_entry(tmp_path: Path, reference: str) -> None:
    assert catalog_reference(reference, None, tmp_path) is None


def test_a_name_alone_is_an_entry_where_there_is_a_catalog(tmp_path: Path) -> None:
    assert catalog_reference("urn:x:bot", "c.example", tmp_path) == ("c.example", "urn:x:bot")
    for reference in ("https://agent.example.com", "./card.json", "/card.json"):
        assert catalog_reference(reference, "c.example", tmp_path) is None


def test_what_exists_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "me@home.json").touch()
    assert catalog_reference("me@home.json", "c.example", tmp_path) is None
