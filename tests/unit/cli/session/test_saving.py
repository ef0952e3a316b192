from pathlib import Path

import pytest

from dragoman.cli.session.saving import SavedFile, plan_files, write_files
from dragoman.errors import UsageError
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact


def artifact(*parts: Part, artifact_id: str = "a-1", name: str = "") -> Artifact:
    return Artifact(artifact_id=artifact_id, name=name, parts=parts)


def names(*artifacts: Artifact) -> list[str]:
    return [file.name for file in plan_files(artifacts, only_files=False)]


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("plain.txt", "plain.txt"),
        ("../../up.txt", "up.txt"),
        ("/etc/passwd", "passwd.bin"),
        ("C:\\windows\\x.exe", "x.exe"),
        ("..", "a-1.bin"),
        (".", "a-1.bin"),
        ("dir/", "a-1.bin"),
        ("new\nline\x1b.txt", "new line.txt"),
        (" spaced .txt", "spaced .txt"),
        ("x" * 300 + ".txt", "x" * 200 + ".bin"),
    ],
)
def test_a_name_stays_in_its_folder(filename: str, name: str) -> None:
    part = Part(raw=b"x", filename=filename, media_type="application/octet-stream")
    assert names(artifact(part)) == [name]


def test_a_name_comes_from_the_part_the_artifact_or_its_id() -> None:
    raw = Part(raw=b"x", media_type="text/plain")
    assert names(artifact(Part(raw=b"x", filename="f.md"), name="n")) == ["f.md"]
    assert names(artifact(raw, name="n")) == ["n.txt"]
    assert names(artifact(raw)) == ["a-1.txt"]
    assert names(artifact(Part(raw=b"x"), artifact_id="..")) == ["artifact"]


def test_text_and_data_have_their_own_endings() -> None:
    assert names(artifact(Part(text="x"), name="t"), artifact(Part(data=1), name="d")) == [
        "t.txt",
        "d.json",
    ]
    assert plan_files([artifact(Part(text="x"), Part(data=1))], only_files=True) == ()


def test_parts_of_one_name_are_one_file() -> None:
    found = plan_files([artifact(Part(text="a"), Part(text="b"))], only_files=False)
    assert found == (SavedFile("a-1.txt", "text/plain", b"ab"),)


def test_the_same_name_in_another_artifact_gets_a_number() -> None:
    one = artifact(Part(raw=b"1", filename="x.txt"))
    assert names(one, one, one) == ["x.txt", "x (1).txt", "x (2).txt"]


def test_an_address_is_no_file() -> None:
    assert names(artifact(Part(url="https://a.example/x"))) == []


def test_files_are_written_whole(tmp_path: Path) -> None:
    write_files([SavedFile("a", "", b"1")], tmp_path / "new" / "folder", overwrite=False)
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["a"]


def test_nothing_is_written_if_something_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    files = [SavedFile("a", "", b"1"), SavedFile("b", "", b"2")]
    with pytest.raises(UsageError, match="b exists; add --overwrite"):
        write_files(files, tmp_path, overwrite=False)
    assert not (tmp_path / "a").exists()
    write_files(files, tmp_path, overwrite=True)
    assert (tmp_path / "b").read_bytes() == b"2"


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write"):
        write_files([SavedFile("a", "", b"1")], tmp_path / "file", overwrite=False)
