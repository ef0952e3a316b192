import json

from dragoman.cli.views.conformance import (
    finding_lines,
    report_document,
    summary_document,
    summary_lines,
)
from dragoman.conformance.checks import Finding, Status


def finding(status: Status, level: str = "MUST", found: str = "") -> Finding:
    return Finding(
        id="get.task",
        level=level,
        requirement="R-3.1.3-1",
        binding="GRPC",
        version="1.0",
        status=status,
        expected="a task can be looked at",
        found=found,
    )


def test_what_passes_is_told_briefly_unless_more_is_asked_for() -> None:
    passed = finding("pass")
    assert finding_lines(passed, is_verbose=False).text() == (
        "Check: get.task\nStatus: pass\nLevel: MUST\nInterface: GRPC 1.0\n"
        "Requirement: R-3.1.3-1\n\n"
    )
    assert "Expected: a task can be" in finding_lines(passed, is_verbose=True).text()


def test_what_fails_is_told_with_what_came_and_what_is_skipped_with_the_reason() -> None:
    failed = finding_lines(finding("fail", found="a\nb\x1b[31m"), is_verbose=False).text()
    assert "Expected: a task can be looked at\nFound: a b[31m\n" in failed
    skipped = finding_lines(finding("skip", found="no task"), is_verbose=False).text()
    assert "Reason: no task\n" in skipped


def test_only_a_must_decides() -> None:
    found = [finding("pass"), finding("fail", "SHOULD"), finding("skip")]
    assert summary_lines(found).text() == "Passed: 1\nFailed: 1\nSkipped: 1\nConforms: yes\n"
    assert "Conforms: no" in summary_lines([*found, finding("fail")]).text()


def test_json_has_everything() -> None:
    found = [finding("fail", found="x")]
    document = json.loads(report_document("Desk", "1.2", found))
    assert (document["agent"], document["version"]) == ("Desk", "1.2")
    assert document["checks"][0]["found"] == "x"
    expected = {"pass": 0, "fail": 1, "skip": 0, "mustFailures": 1}
    assert document["summary"] == expected
    assert json.loads(summary_document(found)) == {"summary": expected}
