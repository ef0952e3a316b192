import asyncio
import dataclasses
from functools import partial
from typing import Annotated, Literal

import msgspec
import pytest

from dragoman.client.tools.tool import Tool, tools_of
from dragoman.errors import InvalidParamsError, UsageError


@dataclasses.dataclass
class Place:
    """Somewhere."""

    city: str
    code: int = 0


def weather(place: Place, days: int = 1, unit: Literal["C", "F"] = "C") -> dict[str, object]:
    """Tell the weather.

    It is always the same.
    """
    return {"place": place, "days": days, "unit": unit}


async def now() -> float:
    return 1.5


def test_what_agents_are_told_is_read_off_the_function() -> None:
    declared = Tool(weather).declared
    assert declared.name == "weather"
    assert declared.description == "Tell the weather.\n\nIt is always the same."
    schema = declared.parameters
    assert schema["type"] == "object"
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["days"] == {"type": "integer"}
    assert properties["unit"] == {"enum": ["C", "F"]}
    assert "$defs" in schema


def test_a_name_and_a_description_can_be_given() -> None:
    declared = Tool(now, name="clock", description="Tell the time.").declared
    assert (declared.name, declared.description) == ("clock", "Tell the time.")
    assert Tool(now).declared.description == "now"


async def test_arguments_become_values_and_results_become_json() -> None:
    result = await Tool(weather).run({"place": {"city": "Rome", "code": 1}, "unit": "F"})
    assert result == {"place": {"city": "Rome", "code": 1}, "days": 1, "unit": "F"}
    assert await Tool(now).run({}) == 1.5


async def test_a_partial_and_what_returns_a_coroutine_are_tools_too() -> None:
    assert await Tool(partial(weather, days=3), name="w").run({"place": {"city": "Rome"}})
    assert await Tool(lambda: asyncio.sleep(0, "slept"), name="nap").run({}) == "slept"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "place is required"),
        ({"place": {"city": "Rome"}, "colour": 1}, "colour is no parameter of the tool"),
        ({"place": {"city": 3}}, "place.city must be str"),
        ({"place": {"city": "Rome"}, "unit": "K"}, "unit"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(
    arguments: dict[str, object], fault: str
) -> None:
    with pytest.raises(InvalidParamsError, match=fault):
        await Tool(weather).run(arguments)


async def test_limits_of_a_type_hold() -> None:
    def jump(height: Annotated[int, msgspec.Meta(le=3)]) -> int:
        return height

    assert await Tool(jump).run({"height": 3}) == 3
    with pytest.raises(InvalidParamsError, match="height"):
        await Tool(jump).run({"height": 4})


def star(*args: str) -> None:
    """Take anything."""


def odd(value: complex) -> None:
    """Take what JSON does not have."""


@pytest.mark.parametrize(
    ("function", "fault"),
    [(star, r"\*args: .*cannot be given by name"), (odd, "JSON cannot carry"), (int, "signature")],
)
def test_what_json_cannot_call_is_no_tool(function: type, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        Tool(function)


def test_a_name_must_be_one() -> None:
    with pytest.raises(UsageError, match="cannot be offered"):
        Tool(now, name="what time?")


def test_functions_become_tools_and_names_are_told_apart() -> None:
    ready = Tool(now, name="clock")
    assert [tool.declared.name for tool in tools_of([weather, ready])] == ["weather", "clock"]
    with pytest.raises(UsageError, match="Duplicate tool names: now"):
        tools_of([now, now])
