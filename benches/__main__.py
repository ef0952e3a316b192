"""Compare Dragoman with the reference SDK and with bare ASGI on this machine.

python -m benches            everything, about fifteen minutes
python -m benches --quick    the headline ratios, about two minutes; exits 1 under a floor
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import uvloop

from benches import report
from benches.metrics.row import Row
from benches.metrics.rows import ROWS
from benches.metrics.scenarios import SCENARIOS, Scenario
from benches.rounds import Finding, Sample, find, run_scenario
from benches.servers import ROOT, WORK, Fleet, ServerError, pin_load, prepare_sdk, versions

RESULTS = ROOT / "benches" / "results"
DEFAULT_ROUNDS = 5
SIDES = ("subject", "sdk", "bare")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="the headline rows only")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="a scenario or row, may be repeated: "
        + ", ".join(dict.fromkeys([s.name for s in SCENARIOS] + [r.key for r in ROWS])),
    )
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="rounds per scenario")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the JSON lines here")
    parser.add_argument(
        "--sides", default=",".join(SIDES), help="which servers to run (default: %(default)s)"
    )
    parser.add_argument(
        "--sdk-python",
        default=sys.executable,
        metavar="PYTHON",
        help="the interpreter the SDK's environment is made from",
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    names = {scenario.name for scenario in SCENARIOS} | {row.key for row in ROWS}
    unknown = set(options.only or ()) - names
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return options


def _choose(*, quick: bool, only: list[str] | None) -> tuple[list[Scenario], list[Row]]:
    """Pick the rows asked for and the scenarios they need."""
    rows = [row for row in ROWS if not quick or row.is_quick]
    if only:
        rows = [row for row in ROWS if row.key in only or row.scenario in only]
    needed = {row.scenario for row in rows}
    lanes = {lane for row in rows for lane in (row.ours, row.theirs, row.limit) if lane}
    scenarios = [
        replace(one, lanes=tuple(lane for lane in one.lanes if lane.name in lanes))
        for one in SCENARIOS
        if one.name in needed
    ]
    if quick:
        scenarios = [
            replace(one, lanes=tuple(lane for lane in one.lanes if lane.is_quick))
            for one in scenarios
        ]
    return scenarios, rows


def _say(text: str) -> None:
    """Show progress, apart from the result."""
    sys.stderr.write(f"[{time.strftime('%H:%M:%S')}] {text}\n")
    sys.stderr.flush()


async def _run(
    fleet: Fleet, scenarios: Sequence[Scenario], rows: Sequence[Row], rounds: int
) -> list[Sample]:
    pin_load()
    samples: list[Sample] = []
    try:
        for scenario in scenarios:
            concerned = [row for row in rows if row.scenario == scenario.name]
            samples += await run_scenario(fleet, scenario, concerned, rounds=rounds, say=_say)
    finally:
        fleet.clean()
    return samples


def _versions(sdk_python: str, *, has_grpc: bool) -> report.Versions:
    shared = ("uvicorn", "httptools", "uvloop", *(["grpcio"] if has_grpc else []))
    environment = prepare_sdk(sdk_python, "grpc" if has_grpc else "memory")
    return {
        "dragoman": versions(sys.executable, ("dragoman", *shared, "msgspec")),
        "a2a-sdk": versions(environment, ("a2a-sdk", *shared, "protobuf")),
    }


def _write(
    options: argparse.Namespace,
    samples: Sequence[Sample],
    findings: Sequence[Finding],
    found_versions: report.Versions,
    text: str,
) -> None:
    """Write the results; only complete runs replace the committed ones."""
    is_complete = not options.only and set(options.sides.split(",")) == set(SIDES)
    folder = RESULTS if is_complete else WORK / "results"
    name = "quick" if options.quick else "full"
    header: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        "mode": name,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "versions": found_versions,
    }
    report.write_json_lines(folder / f"{name}.jsonl", header, samples, findings)
    report.chart(folder / f"{name}.svg", findings, found_versions)
    (folder / f"{name}.txt").write_text(text + "\n")
    if options.json:
        report.write_json_lines(options.json, header, samples, findings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = _parse(arguments)
    scenarios, rows = _choose(quick=options.quick, only=options.only)
    started = time.perf_counter()
    _say("preparing the SDK's environments")
    try:
        for spec in {lane.spec for scenario in scenarios for lane in scenario.lanes}:
            if spec.side == "sdk":
                prepare_sdk(options.sdk_python, spec.environment)
        has_grpc = any(lane.spec.is_grpc for scenario in scenarios for lane in scenario.lanes)
        found_versions = _versions(options.sdk_python, has_grpc=has_grpc)
    except ServerError as error:
        _say(str(error))
        return 2
    fleet = Fleet(options.sdk_python, tuple(options.sides.split(",")))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        samples = runner.run(_run(fleet, scenarios, rows, options.rounds))
    findings = [find(row, samples) for row in rows]
    text = "\n".join(
        [
            report.table(findings),
            "",
            report.drift(samples),
            *report.version_lines(found_versions),
        ]
    )
    sys.stdout.write(text + "\n")
    _write(options, samples, findings, found_versions, text)
    _say(f"done in {time.perf_counter() - started:.0f} s")
    under = [found.row.key for found in findings if found.is_under]
    if under:
        _say(f"under the floor: {', '.join(under)}")
    return 1 if under else 0


if __name__ == "__main__":
    sys.exit(main())
