from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec
import pytest
from pydantic import BaseModel

from dragoman import File
from dragoman.client.results.content import ReceivedFile, data_of, files_of, parts_of, typed
from dragoman.errors import UsageError
from dragoman.model.parts import Part
from tests.support.client.fakes import said


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: float = 0.5


class Line(msgspec.Struct):
    points: list[Point]


class Model(BaseModel):
    name: str
    point: Point


# --- saying -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("hi", Part(text="hi")),
        (b"\x00", Part(raw=b"\x00", media_type="application/octet-stream")),
        (bytearray(b"\x00"), Part(raw=b"\x00", media_type="application/octet-stream")),
        (Part(url="https://a.example"), Part(url="https://a.example")),
        (File(b"x", name="a"), Part(raw=b"x", filename="a")),
        (ReceivedFile(content=b"x", name="a"), Part(raw=b"x", filename="a")),
        ({"a": 1}, Part(data={"a": 1})),
        ([1, "two"], Part(data=[1, "two"])),
        ([], Part(data=[])),
        (5, Part(data=5)),
        (None, Part(data=None)),
        (Colour.RED, Part(data="red")),
        (Point(1), Part(data={"x": 1, "y": 0.5})),
        (Line([Point(1)]), Part(data={"points": [{"x": 1, "y": 0.5}]})),
        (
            Model(name="n", point=Point(1)),
            Part(data={"name": "n", "point": {"x": 1, "y": 0.5}}),
        ),
    ],
)
def test_a_value_becomes_a_part(value: object, part: Part) -> None:
    assert parts_of((value,)) == (part,)


def test_content_keeps_its_order() -> None:
    files = [File(b"1"), Part(text="2")]
    assert parts_of(("0", files, said("3"))) == (
        Part(text="0"),
        Part(raw=b"1"),
        Part(text="2"),
        Part(text="3"),
    )


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "odd").write_bytes(b"y")
    picture, odd = parts_of((tmp_path / "a.png", tmp_path / "odd"))
    assert picture == Part(raw=b"x", filename="a.png", media_type="image/png")
    assert odd.media_type == "application/octet-stream"


def test_what_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to send"):
        parts_of(())
    with pytest.raises(UsageError, match="cannot read"):
        parts_of((tmp_path / "none",))
    with pytest.raises(UsageError, match="a object cannot be sent"):
        parts_of((object(),))


# --- hearing ------------------------------------------------------------------------------------

HEARD = (
    Part(text="hi"),
    Part(data=None),
    Part(data={"x": 1}),
    Part(raw=b"x", filename="f"),
    Part(url="https://a.example"),
)


def test_data_and_files_are_found_among_the_parts() -> None:
    assert data_of(HEARD) == (None, {"x": 1})
    assert files_of(HEARD) == (
        ReceivedFile(content=b"x", name="f"),
        ReceivedFile(url="https://a.example"),
    )


@pytest.mark.parametrize(
    ("part", "kind", "value"),
    [
        (Part(data={"x": 1}), Point, Point(1)),
        # gRPC has doubles only.
        (Part(data={"x": 1.0, "y": 2.0}), Point, Point(1, 2.0)),
        (Part(data={"points": [{"x": 1.0}]}), Line, Line([Point(1)])),
        (Part(data={"name": "n", "point": {"x": 1}}), Model, Model(name="n", point=Point(1))),
        (Part(data=[1, 2]), list[int], [1, 2]),
        (Part(data="red"), Colour, Colour.RED),
        (Part(text="21.5"), float, 21.5),
        (Part(text="hi"), str, "hi"),
    ],
)
def test_what_is_heard_is_read_as_a_type(part: Part, kind: object, value: object) -> None:
    assert typed((part,), kind) == value


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Part(data={"x": "one"}), Point),
        (Part(data={"name": 1}), Model),
        (Part(text="no number"), int),
        (Part(data={}), object()),
    ],
)
def test_what_does_not_fit_is_an_error(part: Part, kind: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        typed((part,), kind)


def test_what_may_be_anything_is_left_as_it_is() -> None:
    assert typed((Part(data={"a": [1, "b"]}),), dict[str, object]) == {"a": [1, "b"]}
