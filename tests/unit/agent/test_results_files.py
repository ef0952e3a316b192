from pathlib import Path

import pytest

from dragoman.agent.results import File
from dragoman.errors import UsageError
from dragoman.model.parts import Part


def test_a_file_from_a_path_has_its_name_and_a_guessed_media_type(tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_bytes(b"png")
    assert File.from_path(tmp_path / "chart.png") == File(
        content=b"png", name="chart.png", media_type="image/png"
    )


def test_a_file_without_a_telling_name_is_an_octet_stream(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"?")
    assert File.from_path(str(tmp_path / "blob")).media_type == "application/octet-stream"


def test_a_given_media_type_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    assert File.from_path(tmp_path / "a.txt", media_type="text/x").media_type == "text/x"


def test_a_file_by_value_becomes_a_raw_part_and_back() -> None:
    file = File(content=b"x", name="a.txt", media_type="text/plain")
    assert file.part() == Part(raw=b"x", filename="a.txt", media_type="text/plain")
    assert File.from_part(file.part()) == file


def test_a_file_by_reference_becomes_a_url_part_and_back() -> None:
    file = File(url="https://files.example.com/a", name="a")
    assert file.part() == Part(url="https://files.example.com/a", filename="a")
    assert File.from_part(file.part()) == file


def test_reading_a_file_gives_its_bytes() -> None:
    assert File(content=b"").read() == b""


def test_reading_a_file_that_is_an_address_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"a\.txt was sent as an address; fetch File\.url"):
        File(url="https://files.example.com/a", name="a.txt").read()


@pytest.mark.parametrize(
    ("content", "url"),
    [
        (None, None),  # nothing
        (b"x", "https://files.example.com/a"),  # both
    ],
)
def test_a_file_is_either_bytes_or_an_address(content: bytes | None, url: str | None) -> None:
    with pytest.raises(UsageError, match="exactly one of content, url"):
        File(content=content, url=url)
