"""Reading what a user writes as the value of an option, a variable or a line of a file.

Every reader takes a text and raises ``ValueError`` with what the text must be, without repeating
it: it may be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, TypeGuard

from dragoman.client.discovery.offers import BINDINGS, binding_named
from dragoman.errors import UsageError
from dragoman.model.operations import MAX_PAGE_SIZE
from dragoman.model.tasks import TaskState
from dragoman.model.timestamps import parse_timestamp

__all__ = (
    "binding",
    "boolean",
    "choice",
    "count",
    "duration",
    "is_list",
    "is_object",
    "json_object",
    "page_size",
    "parameter",
    "port",
    "split_list",
    "split_parameters",
    "task_state",
    "text",
    "timestamp",
    "version",
)

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_VERSION: Final = re.compile(r"\d{1,4}\.\d{1,4}", re.ASCII)
# RFC 9110, 5.6.2: what the name of a field may hold; neither separator is among it.
_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER: Final = re.compile(rf"\s*({_NAME})(?:: ?|=)(.*)", re.DOTALL)
_NEXT_PARAMETER: Final = re.compile(rf",(?=\s*{_NAME}[:=])")
_MOST: Final = 2**31 - 1
_LAST_PORT: Final = 2**16 - 1
_STATES: Final = {state.name.lower().replace("_", "-"): state for state in TaskState}


def text(value: str) -> str:
    """Take the text as it is; an empty one is a mistake."""
    if not value:
        raise ValueError("must not be empty")
    return value


def boolean(value: str) -> bool:
    """Read a switch."""
    found = _BOOLEANS.get(value.strip().lower())
    if found is None:
        raise ValueError("must be true or false (1, yes, on; 0, no, off)")
    return found


def duration(value: str) -> float:
    """Read a duration such as ``500ms``, ``2s``, ``1m30s`` or ``1h``; a bare number is seconds."""
    stripped = value.strip()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if not stripped or _AMOUNT.sub("", stripped):
        raise ValueError("must be a duration such as 500ms, 2s or 1m30s")
    return sum(float(amount) * _UNITS[unit] for amount, unit in _AMOUNT.findall(stripped))


def count(value: str) -> int:
    """Read a number of things."""
    if not value.isdecimal() or int(value) > _MOST:
        raise ValueError("must be a whole number, 0 or more")
    return int(value)


def port(value: str) -> int:
    """Read the number of a port; 0 stands for any that is free."""
    if not value.isdecimal() or int(value) > _LAST_PORT:
        raise ValueError(f"must be a whole number from 0 to {_LAST_PORT}")
    return int(value)


def page_size(value: str) -> int:
    """Read how many tasks a page may have; the protocol allows 1 to 100."""
    if not value.isdecimal() or not 1 <= int(value) <= MAX_PAGE_SIZE:
        raise ValueError(f"must be a whole number from 1 to {MAX_PAGE_SIZE}")
    return int(value)


def choice(*names: str) -> Callable[[str], str]:
    """Return the reader of one of these names, in whatever case."""

    def read(value: str) -> str:
        found = value.strip().lower()
        if found not in names:
            raise ValueError(f"must be {' or '.join(names)}")
        return found

    return read


def version(value: str) -> str:
    """Read the number of a protocol version."""
    if not _VERSION.fullmatch(value.strip()):
        raise ValueError("must be a version such as 1.0")
    return value.strip()


def binding(value: str) -> str:
    """Read the name of a binding; a URI is somebody's own binding."""
    if "://" in value:
        return value.strip()
    try:
        return binding_named(value.strip())
    except UsageError:
        raise ValueError(f"must be {', '.join(BINDINGS)}") from None


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether what was read from JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether what was read from JSON is an array."""
    return isinstance(value, list)


def json_object(value: str) -> dict[str, object]:
    """Read a JSON object."""
    try:
        found: object = json.loads(value)
    except ValueError:
        found = None
    if not is_object(found):
        raise ValueError("must be a JSON object")
    return found


def parameter(value: str) -> tuple[str, str]:
    """Read ``name:value`` or ``name=value``; one space after the colon does not count."""
    match = _PARAMETER.fullmatch(value)
    if match is None:
        raise ValueError("must be NAME:VALUE")
    return match[1], match[2]


def split_list(value: str) -> list[str]:
    """Split at commas."""
    return [piece.strip() for piece in value.split(",") if piece.strip()]


def split_parameters(value: str) -> list[str]:
    """Split at those commas that another name follows: values may hold commas."""
    return [piece.strip() for piece in _NEXT_PARAMETER.split(value)]


def task_state(value: str) -> TaskState:
    """Read a state: ``input-required``, or ``TASK_STATE_INPUT_REQUIRED``."""
    short = value.strip().lower().removeprefix("task_state_").replace("_", "-")
    found = _STATES.get(short)
    if found is None:
        raise ValueError(f"must be one of {', '.join(_STATES)}")
    return found


def timestamp(value: str) -> str:
    """Read a time (RFC 3339); it is passed on as it is."""
    parse_timestamp(value)
    return value
