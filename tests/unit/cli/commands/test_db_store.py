from pathlib import Path

import pytest

from tests.cli.calling import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def looked_for(cli: Cli, *arguments: str, **variables: str) -> str:
    """Return the file that a command has looked for, in vain."""
    result = cli("db", "check", "-o", "json", *arguments, **variables)
    assert result.code == 2
    text = result.error["message"]
    start, end = "there is no database ", "; name one"
    assert text.startswith(start), text
    return text[len(start) : text.index(end)]


def test_the_store_is_that_of_a_server_in_the_same_folder(cli: Cli) -> None:
    folder = cli.folder
    assert looked_for(cli) == f"{folder}/dragoman.db"
    (folder / "dragoman.toml").write_text('store = "sqlite:///of-file.db"\nport = 9000\n')
    assert looked_for(cli) == f"{folder}/of-file.db"
    variable = {"DRAGOMAN_STORE": "sqlite:///of-variable.db"}
    assert looked_for(cli, **variable) == f"{folder}/of-variable.db"
    assert looked_for(cli, "--store", "sqlite:////a/b.db", **variable) == "/a/b.db"


def test_the_settings_file_may_be_another(cli: Cli) -> None:
    (cli.folder / "other.toml").write_text('store = "sqlite:///other.db"\n')
    assert looked_for(cli, DRAGOMAN_CONFIG="other.toml") == f"{cli.folder}/other.db"
    result = cli("db", "check", DRAGOMAN_CONFIG="missing.toml")
    assert (result.code, "cannot read" in result.err) == (2, True)


@pytest.mark.parametrize("url", ["memory:", "tasks.db", "mysql:///x"])
def test_a_store_without_a_file_is_refused(cli: Cli, url: str) -> None:
    result = cli("db", "check", "--store", url)
    assert result.code == 2
    assert f"Error: {url!r}" in result.err


def test_a_store_that_is_no_text_is_refused(cli: Cli) -> None:
    (cli.folder / "dragoman.toml").write_text("store = 5\n")
    result = cli("db", "check")
    assert (result.code, "store must be a text, not 5" in result.err) == (2, True)
