"""Tests and the requirements of the command line agree: each has a test that is named after it."""

import ast
import csv
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

PREFIX = "A2ACLI_"


class Row(NamedTuple):
    """One requirement of the A2A CLI specification 0.2; ``scope`` is ``now`` or ``later``."""

    id: str
    tier: str
    level: str
    scope: str
    text: str


def rows() -> list[Row]:
    table = files("dragoman.conformance").joinpath("requirements_cli.tsv").read_text("utf-8")
    lines = csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Row(**line) for line in lines]


def claimed() -> set[str]:
    """The ids that names of tests begin with."""
    found: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                match = re.match(r"test_([a-z]+(?:_[a-z]+)*_\d{3})_", node.name)
                if match:
                    found.add(PREFIX + match[1].upper())
    return found


def test_the_tiers_add_up() -> None:
    assert Counter(row.tier for row in rows()) == {"1": 39, "2": 15, "3": 12}
    assert len({row.id for row in rows()}) == 66
    assert {row.scope for row in rows()} == {"now", "later"}


def test_every_requirement_that_is_due_has_a_test() -> None:
    due = {row.id for row in rows() if row.scope == "now"}
    assert due - claimed() == set()


def test_every_test_names_a_requirement_that_is_due() -> None:
    assert claimed() - {row.id for row in rows() if row.scope == "now"} == set()
