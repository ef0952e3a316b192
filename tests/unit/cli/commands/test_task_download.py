import pytest

from dragoman.cli.commands import task_download
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, task

FAR = {"artifactId": "a", "parts": [{"url": "https://files.example/d/far.png?x=1"}]}


def test_an_address_is_told_and_not_fetched(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task(artifacts=[FAR])
    result = cli("task", "download", "t-1")
    assert result.code == 0
    assert "not fetched: https://files.example/d/far.png?x=1; add --fetch-urls" in result.err
    assert list(cli.folder.iterdir()) == []


def test_an_address_is_fetched_if_asked(
    cli: Cli, fake: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, bool, bool]] = []

    async def fetch(url: str, *, is_private_allowed: bool, is_insecure: bool) -> bytes:
        asked.append((url, is_private_allowed, is_insecure))
        return b"png"

    monkeypatch.setattr(task_download, "fetch", fetch)
    near = {"artifactId": "b", "parts": [{"text": "x"}]}
    fake.answers["GetTask"] = lambda _: task(artifacts=[FAR, near])
    result = cli("task", "download", "t-1", "--fetch-urls", "--output-dir", "got")
    assert result.code == 0
    assert (cli.folder / "got" / "far.png").read_bytes() == b"png"
    assert asked == [("https://files.example/d/far.png?x=1", False, False)]


def test_an_address_that_is_refused_is_a_failure(cli: Cli, fake: FakeAgent) -> None:
    inside = {"artifactId": "a", "parts": [{"url": "https://127.0.0.1/x"}]}
    fake.answers["GetTask"] = lambda _: task(artifacts=[inside])
    result = cli("task", "download", "t-1", "--fetch-urls", "-o", "json")
    assert result.code == 1
    assert "private network" in result.error["message"]
