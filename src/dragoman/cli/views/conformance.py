"""How findings of the checker are shown: a record for each, and what it comes to in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from dragoman.cli.output import Output
from dragoman.cli.views.labels import Lines
from dragoman.conformance.checks import Finding

__all__ = ("Report", "finding_lines", "report_document", "summary_document", "summary_lines")


class Report:
    """Takes findings and shows them: as they come, unless they are to be one document.

    Attributes:
        agent: the name of the agent, once it is known.
        version: the agent's own version.
    """

    def __init__(self, output: Output, *, is_live: bool) -> None:
        """Begin with nothing found; ``is_live`` asks for a line of JSON per finding."""
        self.findings: list[Finding] = []
        self.agent = self.version = ""
        self._output = output
        self._is_document = output.is_json and not is_live

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        self.findings.append(finding)
        if not self._is_document:
            is_verbose = self._output.is_verbose
            self._output.show(
                msgspec.json.encode(finding), lambda: finding_lines(finding, is_verbose=is_verbose)
            )

    def close(self) -> None:
        """Show what it comes to."""
        if self._is_document:
            document = report_document(self.agent, self.version, self.findings)
        else:
            document = summary_document(self.findings)
        self._output.show(document, lambda: summary_lines(self.findings))


def finding_lines(finding: Finding, *, is_verbose: bool) -> Lines:
    """Return the record of one check; what is expected is told where it does not come, or always.

    Args:
        is_verbose: tell it always.
    """
    lines = Lines().field("Check", finding.id).field("Status", finding.status)
    lines.field("Level", finding.level)
    if finding.binding:
        lines.field("Interface", f"{finding.binding} {finding.version}")
    if finding.requirement:
        lines.field("Requirement", finding.requirement)
    if is_verbose or finding.status != "pass":
        lines.field("Expected", finding.expected)
    if finding.found:
        lines.field("Reason" if finding.status == "skip" else "Found", finding.found)
    return lines.gap()


def summary_lines(findings: Sequence[Finding]) -> Lines:
    """Return how many checks came to what."""
    counts = summary(findings)
    lines = Lines().field("Passed", counts["pass"]).field("Failed", counts["fail"])
    lines.field("Skipped", counts["skip"])
    return lines.field("Conforms", "no" if counts["mustFailures"] else "yes")


def summary(findings: Sequence[Finding]) -> dict[str, int]:
    """Count the findings by what they are."""
    counts = Counter(finding.status for finding in findings)
    return {
        "pass": counts["pass"],
        "fail": counts["fail"],
        "skip": counts["skip"],
        "mustFailures": sum(finding.is_must_failure for finding in findings),
    }


def summary_document(findings: Sequence[Finding]) -> bytes:
    """Return the summary as the last line of JSON."""
    return msgspec.json.encode({"summary": summary(findings)})


def report_document(agent: str, version: str, findings: Sequence[Finding]) -> bytes:
    """Return everything as one document; ``version`` is the agent's own."""
    return msgspec.json.encode(
        {"agent": agent, "version": version, "checks": findings, "summary": summary(findings)}
    )
