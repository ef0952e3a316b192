"""Tool: a function of this program that an agent may ask for.

What the agent is told of it, its JSON Schema, is read off the signature; what the agent asks for
is held against the signature before the function is called.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, get_type_hints

from dragoman.errors import FieldViolation, InvalidParamsError, UsageError
from dragoman.extensions.agent_tools.declarations import ClientTool, check_tools
from dragoman.model.plain_data import to_plain_data
from dragoman.model.schema import convert, invalid, schemas_of

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("Tool", "tools_of")

_KINDS: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NO_DEFAULT: Final = inspect.Parameter.empty


class Tool:
    """A function, async or not, that agents may ask for. A plain function runs in a thread.

    Args:
        name: the function's own unless given.
        description: what it does, for the agent; the docstring unless given.

    Attributes:
        declared: what agents are told of it.

    Raises:
        UsageError: the signature cannot be told in JSON, or the name or the description are none.
    """

    def __init__(
        self, function: Callable[..., object], *, name: str = "", description: str = ""
    ) -> None:
        self._function = function
        called = name or getattr(function, "__name__", "")
        self._parameters = _parameters_of(function, called)
        self._hints = _hints_of(function)
        self.declared: Final = ClientTool(
            name=called,
            description=description or inspect.getdoc(function) or called,
            parameters=self._schema(),
        )
        try:
            check_tools((self.declared,), "tools")
        except InvalidParamsError as error:
            raise UsageError(f"tool {called!r} cannot be offered: {error.message}") from None

    async def run(self, arguments: JsonObject) -> object:
        """Call the function, and return its result as JSON has it.

        Raises:
            InvalidParamsError: the arguments do not fit.
            Exception: whatever the function raises.
        """
        bound = self._bind(arguments)
        if inspect.iscoroutinefunction(self._function):
            result = await self._function(**bound)
        else:
            result = await asyncio.to_thread(self._function, **bound)
            if inspect.isawaitable(result):
                result = await result
        return to_plain_data(result, instead="text")

    def _bind(self, arguments: JsonObject) -> dict[str, object]:
        unknown = [name for name in arguments if name not in self._parameters]
        missing = [
            name
            for name, parameter in self._parameters.items()
            if parameter.default is _NO_DEFAULT and name not in arguments
        ]
        faults = [FieldViolation(name, "is no parameter of the tool") for name in unknown]
        faults += [FieldViolation(name, "is required") for name in missing]
        if faults:
            raise invalid(faults)
        return {
            name: convert(value, self._hints.get(name, object), name)
            for name, value in arguments.items()
        }

    def _schema(self) -> JsonObject:
        names = tuple(self._parameters)
        try:
            schemas, definitions = schemas_of([self._hints.get(name, object) for name in names])
        except TypeError as error:
            raise UsageError(f"a tool takes what JSON cannot carry: {error}") from None
        schema: JsonObject = {
            "type": "object",
            "properties": dict(zip(names, schemas, strict=True)),
            "additionalProperties": False,
        }
        required = [
            name for name, parameter in self._parameters.items() if parameter.default is _NO_DEFAULT
        ]
        if required:
            schema["required"] = required
        return {**schema, "$defs": definitions} if definitions else schema


def tools_of(given: Sequence[Tool | Callable[..., object]]) -> tuple[Tool, ...]:
    """Make tools of functions.

    Raises:
        UsageError: one cannot be a tool, or two have one name.
    """
    tools = tuple(each if isinstance(each, Tool) else Tool(each) for each in given)
    try:
        check_tools([tool.declared for tool in tools], "tools")
    except InvalidParamsError as error:
        raise UsageError(error.message) from None
    return tools


def _parameters_of(function: Callable[..., object], name: str) -> dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise UsageError(f"tool {name!r} has no signature that can be read") from None
    for parameter in parameters.values():
        if parameter.kind not in _KINDS:
            raise UsageError(f"tool {name!r}: {parameter} cannot be given by name")
    return parameters


def _hints_of(function: Callable[..., object]) -> dict[str, object]:
    try:
        return get_type_hints(function, include_extras=True)
    except (TypeError, NameError):
        return {}  # A callable object, or a name that only a type checker knows.
