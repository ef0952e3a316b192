import pytest
from hypothesis import given

from dragoman.dialects.legacy.part_marks import lift_part, lower_part, spell_part
from dragoman.model.base import JsonObject
from dragoman.model.parts import Part
from tests.support.strategies import part_values


@pytest.mark.parametrize(
    ("part", "kind", "members"),
    [
        (Part(text="x"), "text", {"text": "x"}),
        (Part(text="", metadata={}), "text", {"text": "", "metadata": {}}),
        (Part(raw=b"x"), "file", {"file": {"bytes": b"x"}}),
        (
            Part(url="u", filename="f", media_type="a/b", metadata={"k": 1}),
            "file",
            {"file": {"uri": "u", "name": "f", "mimeType": "a/b"}, "metadata": {"k": 1}},
        ),
        (Part(data={"a": 1}), "data", {"data": {"a": 1}}),
        # What data is taken for anyway is not said.
        (Part(data={}, media_type="application/json"), "data", {"data": {}}),
        (
            Part(data=[1]),
            "data",
            {"data": {"value": [1]}, "metadata": {"data_part_compat": True}},
        ),
        (
            Part(data=None, metadata={"k": 1}),
            "data",
            {"data": {"value": None}, "metadata": {"k": 1, "data_part_compat": True}},
        ),
        (
            Part(text="x", media_type="text/markdown", filename="f"),
            "text",
            {
                "text": "x",
                "metadata": {"a2a.v1": True, "mimeType": "text/markdown", "filename": "f"},
            },
        ),
        (
            Part(data={}, media_type="a/b"),
            "data",
            {"data": {}, "metadata": {"a2a.v1": True, "mimeType": "a/b"}},
        ),
        # A part of a kind that the model does not know is itself again.
        (
            Part(data={"kind": "tool-use", "x": 1}, metadata={"a2a.v0.kind": "tool-use"}),
            "",
            {"kind": "tool-use", "x": 1},
        ),
        (
            Part(data={"name": "f"}, metadata={"a2a.v0.fileReference": True}),
            "file",
            {"file": {"name": "f"}},
        ),
        (
            Part(data={"name": "f"}, metadata={"a2a.v0.fileReference": True, "k": 1}),
            "file",
            {"file": {"name": "f"}, "metadata": {"k": 1}},
        ),
    ],
)
def test_a_part_goes_down(part: Part, kind: str, members: JsonObject) -> None:
    assert lower_part(part) == (kind, members)


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"mimeType": "a/b", "filename": "f"},  # the sender's own
        {"a2a.v1": "yes", "mimeType": "a/b"},
        {"data_part_compat": True},
    ],
)
def test_metadata_without_a_mark_stays(metadata: JsonObject) -> None:
    part = Part(text="x", metadata=metadata)
    assert lift_part(part) is part


def test_data_that_only_looks_wrapped_stays() -> None:
    part = Part(data={"value": 1, "other": 2}, metadata={"data_part_compat": True})
    assert lift_part(part) is part
    assert lift_part(Part(data={"value": 1})) == Part(data={"value": 1})


def test_the_senders_metadata_survives_the_marks() -> None:
    part = Part(data={"value": 5}, metadata={"data_part_compat": True, "k": 1})
    assert lift_part(part) == Part(data=5, metadata={"k": 1})
    part = Part(text="x", metadata={"a2a.v1": True, "mimeType": 5, "filename": "f"})
    assert lift_part(part) == Part(text="x", filename="f", metadata={"mimeType": 5})


@given(part_values)
def test_what_goes_down_comes_up_again(part: Part) -> None:
    kind, members = lower_part(part)
    metadata = members.get("metadata")
    assert metadata is None or isinstance(metadata, dict)
    content = {name: value for name, value in members.items() if name != "metadata"}
    if kind == "file":
        assert content.keys() == {"file"}
        return
    raised = lift_part(Part(**content, metadata=metadata))  # pyright: ignore[reportArgumentType, reportUnknownArgumentType] - JSON
    assert raised.text == part.text
    assert raised.data == part.data
    assert raised.media_type in (part.media_type, "")
    assert raised.filename == part.filename
    assert (raised.metadata or {}) == (part.metadata or {})


def test_a_part_says_what_it_is_before_anything_else() -> None:
    part = Part(text="x", metadata={"k": 1})
    assert list(spell_part(part, ("kind",)).items()) == [
        ("kind", "text"),
        ("text", "x"),
        ("metadata", {"k": 1}),
    ]
    assert spell_part(part, ("type", "kind")) == {
        "type": "text",
        "kind": "text",
        "text": "x",
        "metadata": {"k": 1},
    }


def test_a_part_of_an_unknown_kind_is_spelled_as_it_came() -> None:
    came = {"kind": "tool-use", "x": 1}
    part = Part(data=came, metadata={"a2a.v0.kind": "tool-use"})
    assert spell_part(part, ("type",)) == came
