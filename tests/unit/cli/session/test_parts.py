import io
from pathlib import Path

import pytest

from dragoman.cli.options.options import Option
from dragoman.cli.options.settings import Given
from dragoman.cli.session.parts import PART_OPTIONS, build_parts
from dragoman.errors import UsageError
from dragoman.model.parts import Part

BY_NAME: dict[str, Option[object]] = {option.name: option for option in PART_OPTIONS}


def build(folder: Path, *flags: str, text: str | None = None, stdin: bytes = b"") -> list[Part]:
    """Build parts from flags such as ``text=hello``."""
    given: list[Given] = []
    for flag in flags:
        name, _, value = flag.partition("=")
        given.append(Given(BY_NAME[name], value, f"--{name}"))
    return list(build_parts(text, given, folder, io.BytesIO(stdin)))


def test_the_text_comes_first(tmp_path: Path) -> None:
    assert build(tmp_path, "text=b", "text=", text="a") == [
        Part(text="a"),
        Part(text="b"),
        Part(text=""),
    ]


def test_a_file_is_sent_with_its_name_and_a_guess(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_bytes(b"1,2")
    (tmp_path / "unknown").write_bytes(b"?")
    assert build(tmp_path, "file=sub/a.csv", "file=unknown") == [
        Part(raw=b"1,2", filename="a.csv", media_type="text/csv"),
        Part(raw=b"?", filename="unknown"),
    ]


def test_a_file_may_be_named_by_a_url_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_bytes(b"x")
    url = (tmp_path / "a b.txt").as_uri()
    assert build(tmp_path, f"file={url}") == [
        Part(raw=b"x", filename="a b.txt", media_type="text/plain")
    ]


@pytest.mark.parametrize("scheme", ["http", "https", "s3", "gs", "ftp"])
def test_an_address_is_sent_as_it_is(tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://files.example/a.png?x=1"
    assert build(tmp_path, f"file={url}") == [Part(url=url, media_type="image/png")]


def test_data_comes_from_a_file_from_standard_input_or_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[1]")
    found = build(tmp_path, "data=d.json", "data=-", 'data={"a": null}', stdin=b"2")
    assert found == [Part(data=[1]), Part(data=2), Part(data={"a": None})]


def test_a_file_is_stronger_than_what_stands_there(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("2")
    assert build(tmp_path, "data=1") == [Part(data=2)]


def test_a_media_type_belongs_to_the_part_before_it(tmp_path: Path) -> None:
    found = build(tmp_path, "text=a", "media-type=text/markdown", "data=1", "media-type=x/y")
    assert found == [Part(text="a", media_type="text/markdown"), Part(data=1, media_type="x/y")]


@pytest.mark.parametrize(
    ("flags", "text", "told"),
    [
        ((), None, "there is nothing to send"),
        (("media-type=a/b",), None, "must follow the part"),
        (("media-type=a/b",), "positional", "must follow the part"),
        (("text=a", "media-type=a/b", "media-type=c/d"), None, "must follow the part"),
        (("data=-", "data=-"), None, "only once"),
        (("data=-",), "-", "only once"),
        (("data=nothing",), None, "neither a file nor JSON"),
        (("data=broken.json",), None, "broken.json is not JSON"),
        (("data=bytes.json",), None, "not in UTF-8"),
        (("file=nothing",), None, "cannot read nothing: no such file or directory"),
        (("file=.",), None, "is a directory"),
    ],
)
def test_what_makes_no_message_is_told(
    tmp_path: Path, flags: tuple[str, ...], text: str | None, told: str
) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=told):
        build(tmp_path, *flags, text=text)


def test_standard_input_must_be_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in UTF-8"):
        build(tmp_path, text="-", stdin=b"\xff")
