"""Catalogs: what is in them, and agents that are named by an entry."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dragoman import connect
from dragoman.auth.outgoing.credentials import Bearer
from dragoman.client import CardCache, CatalogError
from tests.cli.calling import Cli
from tests.cli.fake import CARD_PATH, FakeAgent, card, task

CARD = "application/a2a-agent-card+json"
CATALOG = "application/ai-catalog+json"
WELL_KNOWN = "/.well-known/ai-catalog.json"


def entry(identifier: str, **members: object) -> dict[str, object]:
    return {"identifier": identifier, "type": CARD, **members}


def catalog(*entries: Mapping[str, object]) -> str:
    return json.dumps({"specVersion": "1.0", "entries": entries})


class Site:
    """What a web site answers, by path: a body, a redirection, or headers alone."""

    def __init__(self) -> None:
        self.url = ""
        self.pages: dict[str, str] = {}
        self.redirections: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []


@contextmanager
def serving(site: Site) -> Generator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
            """Say nothing."""

        def do_GET(self) -> None:
            """Answer as the site says."""
            site.asked.append((self.path, dict(self.headers)))
            target, page = site.redirections.get(self.path), site.pages.get(self.path)
            body = (page or "").encode()
            self.send_response(302 if target else 200 if page is not None else 404)
            if target:
                self.send_header("Location", target)
            if self.path in site.links:
                self.send_header("Link", site.links[self.path])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def site() -> Generator[Site]:
    """A site with no pages yet."""
    with serving(Site()) as found:
        yield found


@pytest.fixture
def agent(fake: FakeAgent) -> FakeAgent:
    """An agent with one task."""
    fake.answers["GetTask"] = lambda _: task()
    return fake


def get(cli: Cli, reference: str, *flags: str) -> int:
    return cli("task", "get", "t-1", "--agent-card", reference, *flags).code


# --- references -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["urn:agents:example.com:weather", "Weather", "weather"])
def test_card_get_005_an_entry_is_a_reference(alone: Cli, agent: FakeAgent, name: str) -> None:
    found = entry(
        "urn:agents:example.com:weather", displayName="Weather", url=f"{agent.url}{CARD_PATH}"
    )
    (alone.folder / "agents.json").write_text(catalog(found, entry("x:other", url="https://x/")))
    assert get(alone, f"agents.json@{name}") == 0
    assert get(alone, name, "--catalog", "agents.json") == 0
    assert alone("card", "get", f"agents.json@{name}").field("Name") == "Fake"


def test_card_get_005_a_catalog_is_found_at_a_host(
    alone: Cli, site: Site, agent: FakeAgent
) -> None:
    # Of the network, so it leads to https or to its own origin: here the card is inline.
    site.pages[WELL_KNOWN] = catalog(entry("a:b", data=card(agent.url)))
    host = site.url.removeprefix("http://")
    assert get(alone, f"{host}@b") == 0
    assert get(alone, f"{site.url}/@b") == 0
    assert get(alone, f"{site.url}{WELL_KNOWN}@a:b") == 0
    assert alone("task", "get", "t-1", "-a", "b", A2ACLI_CATALOG=site.url).code == 0
    assert alone("card", "get", f"{host}@b", "-o", "json").json == card(agent.url)


def test_card_get_005_a_catalog_is_advertised_by_a_link(
    alone: Cli, site: Site, agent: FakeAgent
) -> None:
    site.pages |= {"/": "", "/agents": catalog(entry("a:b", data=card(agent.url)))}
    site.links["/"] = '</style>; rel=stylesheet, </agents>; type="x"; rel="alternate ai-catalog"'
    assert get(alone, f"{site.url}/@b") == 0


def test_card_get_005_catalogs_hold_catalogs(alone: Cli, site: Site, agent: FakeAgent) -> None:
    inner = {"entries": [entry("in:ner", data=card(agent.url))]}
    site.pages |= {
        "/one.json": catalog(
            {"identifier": "x", "type": CATALOG, "url": "two.json"},
            {"identifier": "self", "type": CATALOG, "url": "one.json"},
        ),
        "/two.json": catalog({"identifier": "y", "mediaType": CATALOG, "data": inner}),
    }
    assert get(alone, f"{site.url}/one.json@ner") == 0
    assert [path for path, _ in site.asked] == ["/one.json", "/two.json"]


def test_card_get_005_depth_is_limited(alone: Cli) -> None:
    for number in range(6):
        nested = {"identifier": f"c:{number}", "type": CATALOG, "url": f"{number + 1}.json"}
        found = entry(f"e:{number}", url="https://x.example/")
        (alone.folder / f"{number}.json").write_text(catalog(nested, found))
    result = alone("catalog", "list", "0.json", "-o", "json")
    assert [row["identifier"] for row in result.json["entries"]] == [f"e:{n}" for n in range(4)]
    assert "Warning: c:3 is nested too deep" in result.err


def test_card_get_005_an_ambiguous_name_is_told_with_the_candidates(alone: Cli) -> None:
    found = [entry(f"{where}:bot", version="1", url="https://x.example/") for where in "ab"]
    (alone.folder / "c.json").write_text(catalog(*found))
    result = alone("card", "get", "c.json@bot", "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "a:bot 1, b:bot 1" in result.error["message"]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (catalog(), "has no agent 'bot'"),
        ("[]", "is no catalog"),
        (None, "cannot read"),
        (catalog({"identifier": "a:bot", "type": "text/plain", "url": "x"}), "has no agent"),
    ],
)
def test_card_get_005_an_entry_that_is_not_there_is_told(
    alone: Cli, content: str | None, finding: str
) -> None:
    if content is not None:
        (alone.folder / "c.json").write_text(content)
    result = alone("card", "get", "./c.json@bot", "-o", "json")
    assert (result.code, result.error["code"]) == (3, "A2ACLI_ERR_CARD_NOT_FOUND")
    assert finding in result.error["message"]


def test_card_get_005_what_exists_is_no_reference(alone: Cli, agent: FakeAgent) -> None:
    (alone.folder / "me@home.json").write_text(json.dumps(card(agent.url)))
    assert get(alone, "me@home.json") == 0


# --- what a catalog must not do -------------------------------------------------------------------


@pytest.mark.parametrize("url", ["file:///etc/hostname", "http://127.0.0.1:1/card", "/etc/passwd"])
def test_card_get_005_a_remote_catalog_leads_to_no_file_and_no_neighbour(
    alone: Cli, site: Site, url: str
) -> None:
    site.pages["/c.json"] = catalog(entry("a:b", url=url))
    result = alone("card", "get", f"{site.url}/c.json@b", "-o", "json")
    if url.startswith("/"):
        # A path of its own site, which has no such page.
        assert result.error["code"] == "A2ACLI_ERR_CARD_NOT_FOUND"
        assert "/etc/passwd" in [path for path, _ in site.asked]
    else:
        assert result.error["code"] == "A2ACLI_ERR_USAGE"
        assert "must not lead to" in result.error["message"]


def test_card_get_005_redirections_stay_at_their_origin(
    alone: Cli, site: Site, agent: FakeAgent
) -> None:
    site.pages["/new.json"] = catalog(entry("a:b", data=card(agent.url)))
    site.redirections["/c.json"] = "/new.json"
    assert get(alone, f"{site.url}/c.json@b") == 0
    site.redirections["/c.json"] = "http://127.0.0.1:1/evil.json"
    result = alone("card", "get", f"{site.url}/c.json@b", "-o", "json")
    assert "redirects to http://127.0.0.1:1/evil.json" in result.error["message"]


def test_card_get_005_no_credential_is_shown_to_a_catalog(
    alone: Cli, site: Site, agent: FakeAgent
) -> None:
    site.pages["/c.json"] = catalog(entry("a:b", data=card(agent.url)))
    assert get(alone, f"{site.url}/c.json@b", "--bearer", "a-token", "--card-auth") == 0
    assert [headers for _, headers in site.asked if "Authorization" in headers] == []
    assert agent.calls("GetTask")[0].headers["authorization"] == "Bearer a-token"


def test_card_get_005_a_catalog_that_is_too_large_is_refused(alone: Cli, site: Site) -> None:
    site.pages["/c.json"] = catalog(entry("a:b", url="x" * 5_000_000))
    result = alone("catalog", "list", f"{site.url}/c.json", "-o", "json")
    assert result.code == 1
    assert "more than" in result.error["message"]


# --- list -----------------------------------------------------------------------------------------


def test_catalog_list_shows_entries_and_leaves_out_what_is_wrong(alone: Cli) -> None:
    good = entry("a:b", displayName="Bee", version="2", tags=["x"], url="https://b.example/card")
    wrong: list[dict[str, object]] = [entry("a:c"), {"type": CARD, "url": "https://x.example/"}]
    (alone.folder / "c.json").write_text(catalog(good, *wrong))
    text = alone("catalog", "list", "--catalog", "c.json")
    assert (text.field("Entry"), text.field("Name")) == ("a:b", "Bee")
    assert "entries[1] is left out: it needs either url or data" in text.err
    assert "entries[2] is left out" in text.err
    (row,) = alone("catalog", "list", "c.json", "-o", "json").json["entries"]
    assert (row["identifier"], row["isAgent"], row["url"]) == ("a:b", True, good["url"])


def test_catalog_list_needs_a_catalog(alone: Cli) -> None:
    assert alone("catalog", "list").code == 2


def test_a_catalog_of_the_user_may_lead_to_files(alone: Cli, agent: FakeAgent) -> None:
    folder = alone.folder / "deep"
    folder.mkdir()
    (folder / "card.json").write_text(json.dumps(card(agent.url)))
    (folder / "c.json").write_text(catalog(entry("a:b", url="card.json")))
    assert get(alone, f"{Path('deep', 'c.json')}@b") == 0


# --- the same by connect --------------------------------------------------------------------------


async def test_connect_finds_an_agent_in_a_catalog(site: Site, agent: FakeAgent) -> None:
    held = entry("x:held", data=card(agent.url))
    site.pages[WELL_KNOWN] = catalog(held, entry("x:told", url="/card.json"))
    site.pages["/card.json"] = json.dumps(card(agent.url))
    for name in ("held", "told"):
        async with connect(f"{site.url}/@{name}", cards=CardCache()) as found:
            assert (await found.task("t-1").get()).task_id == "t-1"
    with pytest.raises(CatalogError, match="has no agent 'other'"):
        async with connect(f"{site.url}/@other"):
            pass


async def test_connect_shows_no_header_to_a_catalog(site: Site, agent: FakeAgent) -> None:
    site.pages[WELL_KNOWN] = catalog(entry("a:b", data=card(agent.url)))
    shown = {"X-Secret": "s"}
    async with connect(f"{site.url}/@b", headers=shown, auth=Bearer("s"), cards=CardCache()):
        pass
    assert not any({"X-Secret", "Authorization"} & headers.keys() for _, headers in site.asked)
