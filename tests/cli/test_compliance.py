"""The compliance report: it claims what was measured, and nothing else."""

import pytest

from dragoman.cli.errors import EXIT_CODES
from tests.cli import plain_yaml
from tests.cli.compliance import (
    CODES_TEST,
    DEFAULTS,
    PAGE,
    REPORT,
    TIERS,
    Outcome,
    Recorder,
    dated,
    judged,
    page_of,
    report_of,
)
from tests.cli.plain_yaml import Plain
from tests.cli.requirements import named_tests, rows

TEST = "tests/cli/test_send.py::test_send_001_starts_an_interaction"


def committed() -> dict[str, Plain]:
    found = plain_yaml.read(REPORT.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def part(report: dict[str, Plain], name: str) -> dict[str, Plain]:
    found = report[name]
    assert isinstance(found, dict)
    return found


def everything() -> dict[str, Outcome]:
    """A run in which all is well."""
    named = {f"tests/cli/test_x.py::test_{row.id[7:].lower()}_holds[GRPC]" for row in rows()}
    defaults = {f"tests/cli/test_x.py::test_default_001_{test}" for test in DEFAULTS.values()}
    codes = {f"tests/cli/test_x.py::{CODES_TEST}[{code}]" for code in EXIT_CODES}
    return dict.fromkeys(sorted(named | defaults | codes), "passed")


def claimed(outcomes: dict[str, Outcome]) -> Plain:
    return part(report_of(outcomes, "2026-01-01"), "report")["tier_claimed"]


# --- the report that is committed -----------------------------------------------------------------


def test_the_committed_report_has_every_requirement() -> None:
    listed = part(committed(), "requirements")
    assert list(listed) == [row.id for row in rows()]
    for row in rows():
        entry = part(listed, row.id)
        assert (entry["tier"], entry["requirement"]) == (row.tier, row.text)


def test_the_committed_report_cites_tests_that_there_are() -> None:
    known: dict[str, set[str]] = {}
    for test, requirement in named_tests():
        known.setdefault(requirement, set()).add(test)
    for requirement, entry in part(committed(), "requirements").items():
        assert isinstance(entry, dict)
        cited = entry["evidence"]
        assert set(cited) <= known.get(requirement, set()), requirement
        # What passes has been shown, and what does not says why.
        assert bool(cited) if entry["status"] == "pass" else bool(entry["note"])


def test_the_committed_report_adds_up() -> None:
    report = committed()
    for tier in TIERS:
        found = part(part(report, "summary"), f"tier_{tier}")
        of_tier = [row.id for row in rows() if row.tier == tier]
        assert found["total"] == str(len(of_tier))
        for status in ("pass", "partial", "fail", "not_measured"):
            listed = [
                row
                for row in of_tier
                if part(part(report, "requirements"), row)["status"] == status
            ]
            assert found[status] == str(len(listed))
    assert list(part(report, "default_001_breakdown")) == list(DEFAULTS)
    assert len(part(report, "error_codes")) == 8


def test_the_committed_page_is_that_of_the_report() -> None:
    assert PAGE.read_text("utf-8") == page_of(committed())


# --- how it is made -------------------------------------------------------------------------------


def test_all_tiers_are_claimed_where_everything_passes() -> None:
    assert claimed(everything()) == "3"
    head = part(report_of(everything(), "2026-01-01"), "report")
    assert head["transports_covered"] == ["GRPC"]


@pytest.mark.parametrize(
    ("requirement", "tier"),
    [("send_001", "none"), ("conform_001", "1"), ("tx_005", "2")],
)
@pytest.mark.parametrize("change", ["failed", "skipped", "missing"])
def test_what_does_not_pass_blocks_its_tier(requirement: str, tier: str, change: str) -> None:
    outcomes = everything()
    node = f"tests/cli/test_x.py::test_{requirement}_holds[GRPC]"
    if change == "missing":
        del outcomes[node]
    else:
        outcomes[node] = "failed" if change == "failed" else "skipped"
    assert claimed(outcomes) == tier


def test_an_empty_run_claims_nothing() -> None:
    assert claimed({}) == "none"
    assert {verdict.status for verdict in judged({}).values()} == {"not_measured"}


def test_a_verdict_names_what_failed_and_what_was_not_run() -> None:
    verdict = judged({f"{TEST}[GRPC]": "passed", f"{TEST}[JSONRPC]": "failed"})["A2ACLI_SEND_001"]
    assert verdict.status == "fail"
    assert verdict.note == "fails: test_send_001_starts_an_interaction[JSONRPC]"
    assert verdict.evidence == [TEST]
    verdict = judged({f"{TEST}[GRPC]": "passed", f"{TEST}[JSONRPC]": "skipped"})["A2ACLI_SEND_001"]
    assert verdict.status == "partial"
    assert verdict.note == "not run: test_send_001_starts_an_interaction[JSONRPC]"


def test_a_report_without_news_keeps_its_date() -> None:
    assert part(dated({}, "2999-01-01"), "report")["report_date"] == "2999-01-01"
    assert report_of({}, "2999-01-01") == report_of({}, "2999-01-01")


def phase(when: str, outcome: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid="n",
        location=("f", None, "n"),
        keywords={},
        outcome=outcome,  # type: ignore[arg-type] - one of pytest's words
        longrepr=None,
        when=when,  # type: ignore[arg-type] - one of pytest's words
    )


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        ((("setup", "passed"), ("call", "passed"), ("teardown", "passed")), "passed"),
        ((("setup", "passed"), ("call", "passed"), ("teardown", "failed")), "failed"),
        ((("setup", "failed"), ("teardown", "passed")), "failed"),
        ((("setup", "skipped"), ("teardown", "passed")), "skipped"),
    ],
)
def test_a_test_passes_if_all_of_it_does(phases: tuple[tuple[str, str], ...], outcome: str) -> None:
    recorder = Recorder()
    for when, how in phases:
        recorder.pytest_runtest_logreport(phase(when, how))
    assert recorder.outcomes == {"n": outcome}


def test_yaml_is_read_as_it_was_written() -> None:
    value: Plain = {"a": {"b": "yes", "c": [], "d": ["x: y", "- z", "ü"]}, "e": {"f": {"g": ""}}}
    assert plain_yaml.read(plain_yaml.write(value)) == value
    assert 'b: "yes"' in plain_yaml.write(value)
