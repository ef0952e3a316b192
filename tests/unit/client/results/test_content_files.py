from pathlib import Path

import pytest

from dragoman.client.results.content import ReceivedFile
from dragoman.errors import UsageError
from dragoman.model.parts import Part


def test_a_file_comes_out_of_a_part_and_goes_into_one() -> None:
    part = Part(raw=b"x", filename="a.txt", media_type="text/plain")
    file = ReceivedFile.from_part(part)
    assert (file.content, file.name, file.media_type, file.url) == (
        b"x",
        "a.txt",
        "text/plain",
        None,
    )
    assert file.part() == part
    assert file.read() == b"x"


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("note.txt", "note.txt"),
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("C:\\Windows\\system.ini", "system.ini"),
        ("..", "file"),
        ("", "file"),
        ("a\x00b\x1b[31m.txt", "ab[31m.txt"),
        (" .hidden. ", "hidden"),
    ],
)
def test_only_the_last_part_of_a_name_is_used(tmp_path: Path, name: str, saved: str) -> None:
    path = ReceivedFile(content=b"x", name=name).save(tmp_path)
    assert path == tmp_path / saved
    assert path.read_bytes() == b"x"


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    file = ReceivedFile(content=b"x", name="a.tar.gz")
    names = [file.save(tmp_path).name for _ in range(3)]
    assert names == ["a.tar.gz", "a.tar (1).gz", "a.tar (2).gz"]


def test_an_address_is_not_fetched(tmp_path: Path) -> None:
    file = ReceivedFile(url="https://files.example/x", name="x")
    with pytest.raises(UsageError, match="was sent as an address"):
        file.read()
    with pytest.raises(UsageError, match="was sent as an address"):
        file.save(tmp_path)
    assert file.part() == Part(url="https://files.example/x", filename="x")
