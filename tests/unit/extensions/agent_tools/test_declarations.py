import pytest

from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.declarations import (
    ClientTool,
    check_tools,
    declaration,
    declared_in,
)
from dragoman.model.base import JsonObject
from dragoman.model.client_tools import CLIENT_TOOLS

NOTHING: JsonObject = {"type": "object", "properties": {}}
LOOK = ClientTool(name="look", description="Look around.", parameters=NOTHING)


def test_what_is_declared_is_read_again() -> None:
    assert declared_in(declaration([LOOK])) == (LOOK,)


@pytest.mark.parametrize("metadata", [None, {}, {CLIENT_TOOLS: {}}, {CLIENT_TOOLS: "tools"}])
def test_who_declares_nothing_has_no_tools(metadata: dict[str, object] | None) -> None:
    assert declared_in(metadata) == ()


@pytest.mark.parametrize(
    ("tool", "fault"),
    [
        ({"name": ""}, "name must be 1 to 64"),
        ({"name": "n" * 65}, "name must be 1 to 64"),
        ({"name": "read file"}, "name must be 1 to 64"),
        ({"name": "größe"}, "name must be 1 to 64"),
        ({"description": ""}, "description must have 1 to 1024"),
        ({"description": "d" * 1025}, "description must have 1 to 1024"),
        ({"parameters": {"type": "string"}}, "parameters must be a JSON Schema"),
        ({"parameters": {}}, "parameters must be a JSON Schema"),
        ({"parameters": {"type": "object", "properties": 3}}, "properties must be an object"),
        ({"description": 3}, "is no list of tools"),
    ],
)
def test_a_tool_that_breaks_a_rule_is_refused(tool: dict[str, object], fault: str) -> None:
    listed = [{"name": "look", "description": "Look.", "parameters": NOTHING, **tool}]
    with pytest.raises(InvalidParamsError, match=fault):
        declared_in({CLIENT_TOOLS: {"tools": listed}})


def test_the_longest_names_and_descriptions_are_taken() -> None:
    check_tools([ClientTool(name="n" * 64, description="d" * 1024, parameters=NOTHING)], "tools")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidParamsError, match="Duplicate tool names: look"):
        declared_in(declaration([LOOK, LOOK]))


def test_the_place_of_a_fault_is_named() -> None:
    bad = ClientTool(name="", description="d", parameters=NOTHING)
    with pytest.raises(InvalidParamsError) as caught:
        check_tools([LOOK, bad], "tools")
    assert caught.value.violations[0].field == "tools[1].name"
