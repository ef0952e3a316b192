"""The compliance report of the command line, written from a run of its tests.

``make cli-report`` runs ``tests/cli`` with this module as a plugin of pytest, which writes what
came of it to ``docs/reference``: a page, and the YAML that the registry of the specification asks
for. Nobody fills it in by hand. What has no test, or whose test was skipped, is not measured
and blocks the claim of its tier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import pytest

import dragoman
from dragoman.cli.errors import EXIT_CODES
from dragoman.clock import SystemClock
from tests.cli import plain_yaml
from tests.cli.plain_yaml import Plain
from tests.cli.requirements import Row, requirement_of, rows

__all__ = ("DEFAULTS", "PAGE", "REPORT", "Outcome", "Recorder", "judged", "page_of", "report_of")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli-compliance.md"
REPORT = PAGE.with_suffix(".yaml")

SPEC_VERSION = "0.2"
SPEC_REVISION = "2026-08-17, registry as of commit 8dd9249 (2026-08-21)"
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
TIERS = ("1", "2", "3")

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
Status: TypeAlias = Literal["pass", "partial", "fail", "not_measured"]

DEFAULTS = {
    "transport in the order of the card": "the_card_s_order_unless_preferred",
    "send waits": "waits_unless_told_otherwise",
    "text output": "text_unless_json",
    "concise output": "concise_unless_verbose",
    "highest version, at least 1.0": "the_newest_version_unless_asked",
    "TLS verification on": "certificates_are_verified_unless_told",
}
"""The six defaults of A2ACLI_DEFAULT_001, by the test of each."""

CODES_TEST = "test_exit_001_every_local_code_is_emitted"


class Verdict(NamedTuple):
    """What the tests of a requirement come to; anything but a pass has a note."""

    status: Status
    note: str
    evidence: list[str]


class Recorder:
    """A plugin of pytest that keeps what came of each test: by its id, with the parameters."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the outcome of a phase; what fails in any of them has failed."""
        known = self.outcomes.get(report.nodeid)
        if report.failed or known == "failed":
            self.outcomes[report.nodeid] = "failed"
        elif report.skipped or known == "skipped":
            self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call":
            self.outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        today = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC).date().isoformat()
        report = dated(self.outcomes, today)
        REPORT.write_text(plain_yaml.write(report), "utf-8")
        PAGE.write_text(page_of(report), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Have the outcomes recorded: pytest calls this where the module is its plugin."""
    config.pluginmanager.register(Recorder())


def judged(outcomes: Mapping[str, Outcome]) -> dict[str, Verdict]:
    """Return the verdict on every requirement there is."""
    by_requirement: dict[str, dict[str, Outcome]] = defaultdict(dict)
    for node, outcome in outcomes.items():
        requirement = requirement_of(node.rpartition("::")[2])
        if requirement:
            by_requirement[requirement][node] = outcome
    return {row.id: _verdict(by_requirement[row.id]) for row in rows()}


def _verdict(outcomes: Mapping[str, Outcome]) -> Verdict:
    evidence = list(dict.fromkeys(_function(node) for node in outcomes))
    if "failed" in outcomes.values():
        return Verdict("fail", f"fails: {_listed(outcomes, 'failed')}", evidence)
    if "passed" not in outcomes.values():
        return Verdict("not_measured", "no test was run", evidence)
    if "skipped" in outcomes.values():
        return Verdict("partial", f"not run: {_listed(outcomes, 'skipped')}", evidence)
    return Verdict("pass", "", evidence)


def _function(node: str) -> str:
    return node.partition("[")[0]


def _listed(outcomes: Mapping[str, Outcome], kind: Outcome) -> str:
    return ", ".join(node.rpartition("::")[2] for node in outcomes if outcomes[node] == kind)


def claimed_tier(verdicts: Mapping[str, Verdict]) -> int:
    """Return the highest tier of which, and of all below it, every requirement passes."""
    claimed = 0
    for tier in TIERS:
        if any(verdicts[row.id].status != "pass" for row in rows() if row.tier == tier):
            break
        claimed = int(tier)
    return claimed


def report_of(outcomes: Mapping[str, Outcome], date: str) -> dict[str, Plain]:
    """Return the report in the form of the registry."""
    verdicts = judged(outcomes)
    tier = claimed_tier(verdicts)
    return {
        "report": {
            "tool": "dragoman",
            "tool_version": dragoman.__version__,
            "language": "Python",
            "repository": "not published",
            "maintainer": "the authors of dragoman",
            "report_date": date,
            "spec_version": SPEC_VERSION,
            "spec_revision": SPEC_REVISION,
            "a2a_versions": ["1.0", "0.3", "0.2", "0.1"],
            "agent_tested": f"dragoman demo-server {dragoman.__version__}, and scripted agents "
            "for what a good one does not do",
            "agent_tck_conformant": "not_measured",
            "transports_covered": _transports(outcomes),
            "tier_claimed": str(tier) if tier else "none",
        },
        "summary": {f"tier_{tier}": _summary(tier, verdicts) for tier in TIERS},
        "requirements": {row.id: _requirement(row, verdicts[row.id]) for row in rows()},
        "default_001_breakdown": {
            name: _status(outcomes, f"test_default_001_{test}") for name, test in DEFAULTS.items()
        },
        "error_codes": {
            code: _status(outcomes, f"{CODES_TEST}[{code}]")
            for code in EXIT_CODES
            if code.startswith("A2ACLI_ERR_")
        },
        "attestation": "Written by make cli-report from a run of tests/cli; nothing is claimed "
        "that was not measured in it.",
    }


def _transports(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the bindings that tests were run over, all of which have passed."""
    by_binding = {
        binding: {outcome for node, outcome in outcomes.items() if f"[{binding}" in node}
        for binding in BINDINGS
    }
    return [binding for binding in BINDINGS if by_binding[binding] == {"passed"}]


def _summary(tier: str, verdicts: Mapping[str, Verdict]) -> Plain:
    found = Counter(verdicts[row.id].status for row in rows() if row.tier == tier)
    total = sum(found.values())
    return {
        "total": str(total),
        **{status: str(found[status]) for status in ("pass", "partial", "fail", "not_measured")},
        # Quoted: to some readers of YAML a bare yes is a boolean.
        "satisfied": "yes" if claimed_tier(verdicts) >= int(tier) else "no",
    }


def _requirement(row: Row, verdict: Verdict) -> Plain:
    return {
        "tier": row.tier,
        "area": row.area,
        "spec": f"A2A CLI {SPEC_VERSION}",
        "requirement": row.text,
        "status": verdict.status,
        "note": verdict.note,
        "evidence": verdict.evidence,
    }


def _status(outcomes: Mapping[str, Outcome], test: str) -> str:
    found = {
        outcome
        for node, outcome in outcomes.items()
        if test in (node.rpartition("::")[2], _function(node).rpartition("::")[2])
    }
    if not found or "skipped" in found:
        return "not_measured"
    return "pass" if found == {"passed"} else "fail"


def page_of(report: Mapping[str, Plain]) -> str:
    """Return the report as a page."""
    head, summary, listed = (report[name] for name in ("report", "summary", "requirements"))
    assert isinstance(head, dict)
    assert isinstance(summary, dict)
    assert isinstance(listed, dict)
    lines = [
        "# Compliance of the command line",
        "",
        f"What `dragoman` {head['tool_version']} does of the A2A CLI specification "
        f"{head['spec_version']} ({head['spec_revision']}), as measured by its own tests. This "
        "page and [its YAML](cli-compliance.yaml) are written by `make cli-report`; do not edit "
        "them.",
        "",
        f"Tier claimed: **{head['tier_claimed']}**. Bindings covered: "
        f"{', '.join(head['transports_covered']) or 'none'}.",
        "",
        "| tier | requirements | pass | partial | fail | not measured | satisfied |",
        "|---|---|---|---|---|---|---|",
    ]
    for tier in TIERS:
        row = summary[f"tier_{tier}"]
        assert isinstance(row, dict)
        cells = [str(row[name]) for name in _COLUMNS]
        lines.append(f"| {tier} | {' | '.join(cells)} |")
    lines += ["", "| requirement | tier | status | tests | |", "|---|---|---|---|---|"]
    for name, row in listed.items():
        assert isinstance(row, dict)
        note = f" — {row['note']}" if row["note"] else ""
        text = f"{row['requirement']}{note}".replace("|", "\\|")
        cells = [f"`{name}`", str(row["tier"]), str(row["status"]), str(len(row["evidence"]))]
        lines.append(f"| {' | '.join(cells)} | {text} |")
    return "\n".join([*lines, ""])


_COLUMNS = ("total", "pass", "partial", "fail", "not_measured", "satisfied")


def dated(outcomes: Mapping[str, Outcome], today: str) -> dict[str, Plain]:
    """Return the report of today; if nothing has changed, it keeps the date that it had."""
    report = report_of(outcomes, today)
    if REPORT.exists():
        before = plain_yaml.read(REPORT.read_text("utf-8"))
        assert isinstance(before, dict)
        head = before["report"]
        assert isinstance(head, dict)
        kept = report_of(outcomes, str(head["report_date"]))
        if kept == before:
            return kept
    return report
