"""The requirements of the command line, and the tests that are named after them."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

__all__ = ("Row", "named_tests", "requirement_of", "rows")

PREFIX = "A2ACLI_"
FOLDER = Path(__file__).parent


class Row(NamedTuple):
    """One requirement of the A2A CLI specification 0.2; ``scope`` is ``now`` or ``later``."""

    id: str
    tier: str
    level: str
    scope: str
    text: str

    @property
    def area(self) -> str:
        """What it is about: the id without the prefix and the number."""
        return self.id.removeprefix(PREFIX).rpartition("_")[0]


def rows() -> list[Row]:
    """Return all requirements, in the order of the registry."""
    table = files("dragoman.conformance").joinpath("requirements_cli.tsv").read_text("utf-8")
    lines = csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Row(**line) for line in lines]


def requirement_of(test: str) -> str | None:
    """Return the id that the name of a test begins with, None if there is none."""
    match = re.match(r"test_([a-z]+(?:_[a-z]+)*_\d{3})_", test)
    return PREFIX + match[1].upper() if match else None


def named_tests() -> Iterator[tuple[str, str]]:
    """Yield the tests that are named after a requirement, each with that requirement's id."""
    for path in sorted(FOLDER.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                requirement = requirement_of(node.name)
                if requirement:
                    yield f"tests/cli/{path.name}::{node.name}", requirement
