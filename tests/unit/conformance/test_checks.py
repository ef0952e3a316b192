import pytest

from dragoman.conformance.checks import Check, Finding, Status
from dragoman.conformance.requirements import REQUIREMENTS
from dragoman.conformance.runner import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_check_is_about_a_requirement_of_the_manifest(check: Check) -> None:
    assert check.requirement in REQUIREMENTS
    assert check.level in {"MUST", "SHOULD"}


def test_ids_are_unique() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize(
    ("level", "status", "is_failure"),
    [("MUST", "fail", True), ("SHOULD", "fail", False), ("MUST", "skip", False)],
)
def test_only_what_must_be_is_a_failure(level: str, status: Status, *, is_failure: bool) -> None:
    finding = Finding(
        id="x",
        level=level,
        requirement="",
        binding="",
        version="",
        status=status,
        expected="",
    )
    assert finding.is_must_failure is is_failure
