"""Tests and the requirement manifest agree: no unknown id is claimed, no demand goes untested.

Claims are read from the source of the tests, not collected by pytest, so that a test which is
skipped, deselected or marked for another run still counts as the test of its requirement.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.conformance.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).resolve().parents[1]


class Claim(NamedTuple):
    """One id in one ``pytest.mark.requirement(...)``; None where the source does not spell it."""

    requirement_id: str | None
    place: str


def claims_in(source: str, file: str) -> Iterator[Claim]:
    """Yield every claim, be it a decorator, in a ``pytestmark`` or in a ``pytest.param``."""
    for node in ast.walk(ast.parse(source, file)):
        match node:
            case ast.Call(func=ast.Attribute(value=mark, attr="requirement"), args=args) if (
                ast.unparse(mark) in {"pytest.mark", "mark"}
            ):
                for arg in args:
                    yield Claim(spelled_id(arg), f"{file}:{arg.lineno}")
            case _:
                pass


def spelled_id(arg: ast.expr) -> str | None:
    match arg:
        case ast.Constant(value=str(requirement_id)):
            return requirement_id
        case _:
            return None


def all_claims() -> tuple[Claim, ...]:
    return tuple(
        claim
        for path in sorted(TESTS.rglob("*.py"))
        for claim in claims_in(path.read_text("utf-8"), str(path.relative_to(TESTS.parent)))
    )


def is_demanded(row: Requirement) -> bool:
    return (
        row.scope == "now"
        and row.level in {"MUST", "MUST NOT"}
        and row.side in {"S", "C", "B"}
        and row.check in {"wire", "client", "unit"}
    )


def untested(claimed: frozenset[str]) -> tuple[Requirement, ...]:
    """Return the demanded rows that no claim covers.

    A claim covers its own row, the row that one restates, and the rows restating it.
    """
    restated = {REQUIREMENTS[one].same_as for one in claimed & REQUIREMENTS.keys()}
    return tuple(
        row
        for row in REQUIREMENTS.values()
        if is_demanded(row) and row.id not in claimed | restated and row.same_as not in claimed
    )


def test_every_claimed_requirement_is_in_the_manifest() -> None:
    unknown = [claim for claim in all_claims() if claim.requirement_id not in REQUIREMENTS]
    if unknown:
        lines = [f"{place}: {name or 'not a plain string'}" for name, place in unknown]
        pytest.fail("claimed, but not in the manifest:\n" + "\n".join(lines), pytrace=False)


def test_every_demanded_requirement_has_a_test() -> None:
    missing = untested(frozenset(name for name, _ in all_claims() if name is not None))
    if missing:
        lines = [f"{row.id} {row.level} {row.text}" for row in missing]
        title = f"{len(missing)} requirements have no test:\n"
        pytest.fail(title + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize(
    "source",
    [
        # On a function.
        '@pytest.mark.requirement("R-1", "R-2")\ndef test_it(): ...',
        # On a class and on its async method, with the short name.
        '@mark.requirement("R-1")\nclass TestIt:\n  @mark.requirement("R-2")\n  async def f(): ...',
        # On a module.
        'pytestmark = [pytest.mark.requirement("R-1"), pytest.mark.requirement("R-2")]',
        # On one case of a table.
        'pytest.param(1, marks=pytest.mark.requirement("R-1", "R-2"))',
        'pytest.param(1, marks=[pytest.mark.slow, pytest.mark.requirement("R-1", "R-2")])',
    ],
)
def test_a_claim_is_found_wherever_pytest_takes_a_mark(source: str) -> None:
    assert [claim.requirement_id for claim in claims_in(source, "t.py")] == ["R-1", "R-2"]


def test_a_claim_knows_its_line() -> None:
    source = '@pytest.mark.requirement(\n  "R-1",\n  "R-2",\n)\ndef test_it(): ...'
    assert [claim.place for claim in claims_in(source, "t.py")] == ["t.py:2", "t.py:3"]


def test_an_id_that_is_not_spelled_out_is_not_taken_as_a_claim() -> None:
    source = "pytestmark = pytest.mark.requirement(*IDS)"
    assert list(claims_in(source, "t.py")) == [Claim(None, "t.py:1")]


def test_another_mark_is_no_claim() -> None:
    assert list(claims_in('@pytest.mark.timeout("R-1")\ndef test_it(): ...', "t.py")) == []


@pytest.mark.parametrize("claimed", ["R-3.1.6-3", "R-9.4-4"])
def test_a_requirement_and_its_restatement_cover_each_other(claimed: str) -> None:
    assert REQUIREMENTS["R-9.4-4"].same_as == "R-3.1.6-3"
    missing = {row.id for row in untested(frozenset({claimed}))}
    assert missing.isdisjoint({"R-3.1.6-3", "R-9.4-4"})


def test_two_restatements_do_not_cover_each_other() -> None:
    # Both restate R-3.3.2-18, each for its own binding: one test does not see the other binding.
    missing = {row.id for row in untested(frozenset({"R-9.5-5"}))}
    assert "R-11.6-3" in missing


def test_what_is_not_due_yet_is_not_demanded() -> None:
    assert "R-13.1-7" not in {row.id for row in untested(frozenset())}
