"""What is missing from JSON that should contain other JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

__all__ = ("Lack", "missing")


class Lack(NamedTuple):
    """One place where something is missing: a line about it, and how many values were expected."""

    line: str
    size: int


def missing(expected: object, found: object, place: str = "$") -> Iterator[Lack]:
    """Yield what ``found`` lacks of ``expected``, by place; nothing if it has it all.

    An object may have more members than expected, at any depth. A list has as many elements as
    expected, in that order. ``...`` stands for any value.
    """
    if expected is ...:
        return
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        members = cast("Mapping[str, object]", found)
        for name, value in cast("Mapping[str, object]", expected).items():
            if name in members:
                yield from missing(value, members[name], f"{place}.{name}")
            else:
                yield Lack(f"{place}.{name} is missing", _size(value))
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        wanted, elements = cast("Sequence[object]", expected), cast("Sequence[object]", found)
        if len(wanted) != len(elements):
            yield Lack(f"{place} has {len(elements)} elements, not {len(wanted)}", 1)
        for index, (value, element) in enumerate(zip(wanted, elements, strict=False)):
            yield from missing(value, element, f"{place}[{index}]")
    # True is 1 in Python, but not in JSON.
    elif expected != found or isinstance(expected, bool) is not isinstance(found, bool):
        yield Lack(f"{place} is {found!r}, not {expected!r}", _size(cast("object", expected)))


def _size(value: object) -> int:
    """Count the values in a value, itself included."""
    if isinstance(value, Mapping):
        held = tuple(cast("Mapping[str, object]", value).values())
    elif isinstance(value, list | tuple):
        held = tuple(cast("Sequence[object]", value))
    else:
        held = ()
    return 1 + sum(map(_size, held))
