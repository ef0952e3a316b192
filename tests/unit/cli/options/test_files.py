from pathlib import Path

import pytest

from dragoman.cli.options.files import agent_file, is_open_to_others, nearest_file, read_file
from dragoman.errors import UsageError

LINES = r"""
# a comment
A2ACLI_OUTPUT=json
export A2ACLI_TIMEOUT = 5s   # why not
A2ACLI_BEARER='single # quoted'
A2ACLI_METADATA="{\"a\": \"b\\n\"}"
A2ACLI_CONTEXT_ID=c#1
A2ACLI_TASK_ID=
OTHER=left alone
no line of ours
"""


def test_lines_of_ours_are_taken(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(LINES)
    assert read_file(path) == {
        "A2ACLI_OUTPUT": "json",
        "A2ACLI_TIMEOUT": "5s",
        "A2ACLI_BEARER": "single # quoted",
        "A2ACLI_METADATA": '{"a": "b\\n"}',
        "A2ACLI_CONTEXT_ID": "c#1",
        "A2ACLI_TASK_ID": "",
    }


def test_lines_of_others_may_be_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"NAME=\xe4\nA2ACLI_OUTPUT=json\n")
    assert read_file(path) == {"A2ACLI_OUTPUT": "json"}


def test_a_quote_that_is_not_closed_is_part_of_the_value(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A2ACLI_A='open\nA2ACLI_B=\"open")
    assert read_file(path) == {"A2ACLI_A": "'open", "A2ACLI_B": '"open'}


def test_json_has_the_names_of_the_flags(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"poll-interval": "1s", "async": true, "transport": ["a", "b"], "wait": null}')
    assert read_file(path) == {
        "A2ACLI_POLL_INTERVAL": "1s",
        "A2ACLI_ASYNC": "true",
        "A2ACLI_TRANSPORT": "a,b",
    }


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("x.json", b"{", "cannot read"),
        ("x.json", b"[]", "must hold a JSON object"),
        ("x.json", b"\xff", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        read_file(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or directory"):
        read_file(tmp_path / "none")


def test_the_nearest_file_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".env").touch()
    assert nearest_file(inner) == tmp_path / ".env"
    (inner / ".env").touch()
    assert nearest_file(inner) == inner / ".env"


def test_there_may_be_none(tmp_path: Path) -> None:
    assert nearest_file(tmp_path) is None


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://agent.example", "https_agent.example.env"),
        ("https://agent.example:443", "https_agent.example.env"),
        ("http://agent.example:8080", "http_agent.example_8080.env"),
        ("http://[::1]:80", "http___1.env"),
    ],
)
def test_each_agent_has_a_file(tmp_path: Path, origin: str, name: str) -> None:
    assert agent_file(tmp_path, origin) == tmp_path / "agents" / name


@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_file_may_be_open_to_others(tmp_path: Path, mode: int, *, is_open: bool) -> None:
    path = tmp_path / "secret"
    path.touch()
    path.chmod(mode)
    assert is_open_to_others(path) is is_open
