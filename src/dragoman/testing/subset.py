"""What is missing from JSON that should contain other JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

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
    if _is_mapping(expected) and _is_mapping(found):
        for name, value in expected.items():
            if name in found:
                yield from missing(value, found[name], f"{place}.{name}")
            else:
                yield Lack(f"{place}.{name} is missing", _size(value))
    elif _is_sequence(expected) and _is_sequence(found):
        if len(expected) != len(found):
            yield Lack(f"{place} has {len(found)} elements, not {len(expected)}", 1)
        for index, (value, element) in enumerate(zip(expected, found, strict=False)):
            yield from missing(value, element, f"{place}[{index}]")
    # True is 1 in Python, but not in JSON.
    elif expected != found or isinstance(expected, bool) is not isinstance(found, bool):
        yield Lack(f"{place} is {found!r}, not {expected!r}", _size(expected))


def _size(value: object) -> int:
    """Count the values in a value, itself included."""
    if _is_mapping(value):
        held = tuple(value.values())
    else:
        held = tuple(value) if _is_sequence(value) else ()
    return 1 + sum(map(_size, held))


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether it stands for a JSON array; authors of tests also write tuples."""
    return isinstance(value, list | tuple)
