"""The results as a table, as JSON lines and as a chart."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from xml.sax.saxutils import escape

from benches.metrics.row import Row
from benches.rounds import Finding, Sample

__all__ = ("chart", "drift", "table", "version_lines", "write_json_lines")

Versions = dict[str, dict[str, str]]

_COLUMNS = (
    "metric",
    "dragoman",
    "a2a-sdk",
    "limit",
    "unit",
    "ratio",
    "spread",
    "floor",
    "goal",
    "of limit",
    "wanted",
    "cpu us/op",
    "cpu ratio",
    "verdict",
)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.2g}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{_number(value)}x"


def _wanted(row: Row) -> str:
    if row.of_limit is None:
        return "-"
    return f"{'>= ' if row.is_share_floor else ''}{row.of_limit:.2f}"


def _cells(found: Finding) -> tuple[str, ...]:
    row = found.row
    ours = found.cpu_us.get(row.ours, 0.0)
    # What a row without another side is held against is its limit.
    other = row.theirs or row.limit
    theirs = found.cpu_us.get(other, 0.0) if other else 0.0
    cpu = f"{_number(ours)} : {_number(theirs)}" if theirs else _number(ours)
    floor = f"<= {_number(row.at_most)}" if row.at_most is not None else _times(row.floor)
    return (
        row.title,
        _number(found.ours),
        _number(found.theirs),
        _number(found.limit),
        row.unit,
        _times(found.ratio),
        f"{found.spread:.0%}",
        floor,
        _times(row.goal),
        "-" if found.of_limit is None else f"{found.of_limit:.2f}",
        _wanted(row),
        cpu if ours else "-",
        _times(theirs / ours if ours and theirs else None),
        found.verdict,
    )


def table(findings: Sequence[Finding]) -> str:
    """Lay the findings out in columns."""
    lines = [_COLUMNS, *(_cells(found) for found in findings)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    text = [
        "  ".join(
            cell.ljust(width) if index in {0, 4, 13} else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    text.insert(1, "-" * max(len(line) for line in text))
    # Rows of one scenario share their lanes, and so their notes.
    notes = dict.fromkeys(
        f"  {found.row.scenario}: {note}" for found in findings for note in found.notes
    )
    return "\n".join([*text, *(["", "notes", *notes] if notes else [])])


def drift(samples: Sequence[Sample]) -> str:
    """Say how steady the machine was, and how much else it did, while samples were taken."""
    spins = [sample.outcome.spin_ns for sample in samples if sample.outcome]
    if not spins:
        return "no samples"
    foreign = [sample.outcome.foreign_share for sample in samples if sample.outcome]
    middle = statistics.median(spins)
    return (
        f"calibration spin: median {middle / 1e6:.1f} ms, "
        f"fastest {min(spins) / middle:.2f}x, slowest {max(spins) / middle:.2f}x; "
        f"other processes: median {statistics.median(foreign):.0%} of a core, "
        f"up to {max(foreign):.0%}"
    )


def write_json_lines(
    path: Path, header: dict[str, object], samples: Sequence[Sample], findings: Sequence[Finding]
) -> None:
    """Write the run, its samples and its rows, one JSON object per line, with a `type` each."""
    lines: list[dict[str, object]] = [{"type": "run", **header}]
    lines += [{"type": "sample", **asdict(sample)} for sample in samples]
    lines += [
        {
            "type": "row",
            "key": found.row.key,
            "title": found.row.title,
            "unit": found.row.unit,
            "ours": found.ours,
            "theirs": found.theirs,
            "limit": found.limit,
            "ratio": found.ratio,
            "of_limit": found.of_limit,
            "spread": found.spread,
            "rounds": found.rounds,
            "floor": found.row.floor,
            "goal": found.row.goal,
            "at_most": found.row.at_most,
            "wanted": found.row.of_limit,
            "is_share_floor": found.row.is_share_floor,
            "cpu_us_per_op": found.cpu_us,
            "verdict": found.verdict,
            "notes": found.notes,
        }
        for found in findings
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


# Chart geometry, in pixels.
_LEFT, _RIGHT, _TOP, _STEP, _BAR = 320, 110, 90, 30, 18
_WIDTH = 960


def chart(path: Path, findings: Sequence[Finding], versions: Versions) -> None:
    """Draw one bar per ratio on a logarithmic scale, with its floor and its goal marked."""
    shown = [(found, found.ratio) for found in findings if found.ratio]
    top = max([ratio for _, ratio in shown] + [found.row.goal or 1 for found, _ in shown] + [10])
    scale = (_WIDTH - _LEFT - _RIGHT) / math.log10(top)
    height = _TOP + _STEP * len(shown) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _label(16, 24, "Dragoman : a2a-sdk, times better (logarithmic)", size=16, weight="600"),
        *(
            _label(16, 44 + 16 * index, line, fill="#57606a", size=12)
            for index, line in enumerate(version_lines(versions))
        ),
    ]
    parts += _grid(top, scale, height)
    for index, (found, ratio) in enumerate(shown):
        parts += _bar(found, ratio, _TOP + index * _STEP, scale)
    parts.append(
        _label(
            _LEFT,
            height - 12,
            "red line: floor; green line: goal",
            fill="#57606a",
            size=12,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]))


def version_lines(versions: Versions) -> list[str]:
    """Name what ran on each side."""
    return [
        f"{side}: {', '.join(f'{name} {version}' for name, version in found.items())}"
        for side, found in versions.items()
    ]


def _label(
    x: float,
    y: float,
    text: str,
    *,
    fill: str = "#1f2328",
    size: int = 13,
    weight: str = "400",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{fill}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _grid(top: float, scale: float, height: int) -> list[str]:
    lines: list[str] = []
    for power in range(int(math.log10(top)) + 1):
        x = _LEFT + power * scale
        lines.append(
            f'<line x1="{x:.0f}" y1="{_TOP - 6}" x2="{x:.0f}" y2="{height - 30}" stroke="#d0d7de"/>'
        )
        lines.append(_label(x + 3, _TOP - 2, f"{10**power}x", fill="#57606a", size=11))
    return lines


def _bar(found: Finding, ratio: float, y: int, scale: float) -> list[str]:
    length = max(1.0, math.log10(max(ratio, 1.0)) * scale)
    colour = "#cf222e" if found.is_under else "#0969da"
    parts = [
        _label(_LEFT - 10, y + 15, found.row.title, anchor="end"),
        f'<rect x="{_LEFT}" y="{y + 2}" width="{length:.1f}" height="{_BAR}" rx="2" '
        f'fill="{colour}"/>',
    ]
    for mark, stroke in ((found.row.floor, "#cf222e"), (found.row.goal, "#1a7f37")):
        if mark:
            x = _LEFT + math.log10(max(mark, 1.0)) * scale
            parts.append(
                f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + _BAR + 4}" '
                f'stroke="{stroke}" stroke-width="2"/>'
            )
    goal_length = math.log10(found.row.goal) * scale if found.row.goal else 0.0
    x = _LEFT + max(length, goal_length) + 6
    parts.append(_label(x, y + 15, f"{_number(ratio)}x", weight="600"))
    return parts
