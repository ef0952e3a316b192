"""Running all checks on one interface, one after the other, each within its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from dragoman.conformance.answers import at
from dragoman.conformance.bench import Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check, Finding, Status
from dragoman.conformance.lines import NoAnswerError
from dragoman.conformance.probes import answering, extras, sending, streaming, tasks

__all__ = ("CHECKS", "run_checks")

_VERSION, *_ERRORS = answering.ERROR_CHECKS

CHECKS: Final[tuple[Check, ...]] = (
    answering.FIRST,
    _VERSION,
    *sending.CHECKS,
    *tasks.GET_CHECKS,
    *tasks.LIST_CHECKS,
    *streaming.CHECKS,
    *tasks.CANCEL_CHECKS,
    *_ERRORS,
    *extras.CHECKS,
)
"""All of them in their order: a later one looks at what an earlier one has made."""

_V1_0: Final = "1.0"


async def run_checks(bench: Bench, *, limit_seconds: float) -> AsyncGenerator[Finding]:
    """Run the checks and yield what comes of each; what was made at the agent is put away.

    A check that does not apply is left out. Where the interface does not answer at all, or gives a
    send no answer, what depends on that is skipped and says so.

    Args:
        limit_seconds: how long one check may take.
    """
    try:
        for check in CHECKS:
            if not _applies(check, bench):
                continue
            finding = await _run(check, bench, limit_seconds)
            yield finding
            if check is answering.FIRST and finding.status != "pass":
                return
    finally:
        await bench.tidy()


def _applies(check: Check, bench: Bench) -> bool:
    if bench.interface.version != _V1_0 and not check.is_old:
        return False
    if not check.capability:
        return True
    return bool(at(bench.capabilities, check.capability)) == check.is_declared


async def _run(check: Check, bench: Bench, limit_seconds: float) -> Finding:
    try:
        async with asyncio.timeout(limit_seconds):
            await check.run(bench)
    except (FailedError, NoAnswerError) as problem:
        return _finding(check, bench, "fail", str(problem))
    except SkippedError as problem:
        return _finding(check, bench, "skip", str(problem))
    except TimeoutError:
        return _finding(check, bench, "fail", f"there is no end of it after {limit_seconds:g} s")
    return _finding(check, bench, "pass", "")


def _finding(check: Check, bench: Bench, status: Status, found: str) -> Finding:
    interface = bench.interface
    return Finding(
        id=check.id,
        level=check.level,
        requirement=check.requirement if interface.version == _V1_0 else "",
        binding=interface.binding,
        version=interface.version,
        status=status,
        expected=check.expected,
        found=found,
    )
