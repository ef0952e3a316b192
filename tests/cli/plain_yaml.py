"""YAML of the plainest kind: mappings and lists in blocks, every scalar written as JSON has it.

All readers of YAML read it alike: what is quoted is no boolean, and there is nothing to guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ("Plain", "read", "write")

Plain: TypeAlias = "str | list[str] | dict[str, Plain]"


def write(value: Plain) -> str:
    """Return a document."""
    return "".join(f"{line}\n" for line in _lines(value, ""))


def _lines(value: Plain, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) or not item:
                yield f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}"
            else:
                yield f"{indent}{key}:"
                yield from _lines(item, indent + "  ")
    else:
        yield from (f"{indent}- {json.dumps(item, ensure_ascii=False)}" for item in value)


def read(text: str) -> Plain:
    """Read a document that ``write`` has written; lines that begin with # are comments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    value, rest = _read(lines, "")
    assert rest == []
    return value


def _read(lines: list[str], indent: str) -> tuple[Plain, list[str]]:
    if lines[0].startswith(f"{indent}- "):
        items: list[str] = []
        while lines and lines[0].startswith(f"{indent}- "):
            items.append(json.loads(lines.pop(0)[len(indent) + 2 :]))
        return items, lines
    found: dict[str, Plain] = {}
    while lines and lines[0].startswith(indent) and not lines[0].startswith(f"{indent} "):
        key, _, scalar = lines.pop(0).strip().partition(":")
        if scalar:
            found[key] = json.loads(scalar)
        else:
            found[key], lines = _read(lines, indent + "  ")
    return found, lines
