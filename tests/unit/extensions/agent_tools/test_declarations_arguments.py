import pytest

from dragoman.extensions.agent_tools.declarations import ClientTool, fault_in

TOOL = ClientTool(
    name="read_file",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "lines": {"type": "integer"},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "names": {"type": "array"},
            "more": {"type": "object"},
            "maybe": {"type": ["string", "null"]},
            "any": {},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a"},
        {"path": "a", "lines": 3, "ratio": 1, "deep": True, "names": [], "more": {}},
        {"path": "a", "lines": 3.0, "ratio": 0.5},  # over gRPC every number is a double
        {"path": "a", "maybe": None, "any": object()},
    ],
)
def test_arguments_that_fit(arguments: dict[str, object]) -> None:
    assert fault_in(TOOL, arguments) == ""


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "Missing required parameter: path"),
        ({"path": "a", "colour": 1}, "Unknown parameter: colour"),
        ({"path": 3}, "Parameter path has wrong type: expected string, got number"),
        (
            {"path": "a", "lines": "3"},
            "Parameter lines has wrong type: expected integer, got string",
        ),
        ({"path": "a", "lines": 3.5}, "Parameter lines must be an integer, got: 3.5"),
        (
            {"path": "a", "lines": True},
            "Parameter lines has wrong type: expected integer, got boolean",
        ),
        ({"path": "a", "deep": 1}, "Parameter deep has wrong type: expected boolean, got number"),
        ({"path": "a", "names": {}}, "Parameter names has wrong type: expected array, got object"),
        ({"path": None}, "Parameter path has wrong type: expected string, got null"),
        (
            {"path": "a", "maybe": 1},
            "Parameter maybe has wrong type: expected string or null, got number",
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, object], fault: str) -> None:
    assert fault_in(TOOL, arguments) == fault


def test_unknown_parameters_are_taken_unless_the_schema_forbids_them() -> None:
    open_ended = ClientTool(name="t", description="d", parameters={"type": "object"})
    assert fault_in(open_ended, {"whatever": 1}) == ""
