"""Run scenarios in interleaved rounds and turn samples into rows.

The machine's speed drifts while we look, so sides are sampled in the order A B C C B A and only
ratios taken within one round are used. Nothing here knows what is being measured.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benches.load import CheckError
from benches.meter import LOAD_SHARE_LIMIT, Outcome
from benches.metrics.row import Row
from benches.metrics.scenarios import Lane, Scenario
from benches.servers import Fleet, ServerError

__all__ = ("Finding", "Sample", "find", "run_scenario")

# Above this spread of the per-round ratios a scenario is run once more and both runs count.
SPREAD_LIMIT = 0.25

# Above this share of a core in other hands a sample is taken again, this often at most.
FOREIGN_SHARE_LIMIT = 0.25
RETAKES = 1

# Enough of an error to recognise it; the JSON lines have all of it.
NOTE_LENGTH = 240

# What voids a sample; LookupError and ValueError are answers that lack or misspell something.
VOIDING = (ServerError, CheckError, TimeoutError, OSError, LookupError, ValueError)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Sample:
    """An outcome with its place in the run, or the reason why there is none."""

    scenario: str
    lane: str
    round: int
    outcome: Outcome | None
    error: str = ""


@dataclass
class Finding:
    """What a row came to."""

    row: Row
    ours: float | None = None
    theirs: float | None = None
    limit: float | None = None
    ratio: float | None = None
    of_limit: float | None = None
    spread: float = 0.0
    rounds: int = 0
    cpu_us: dict[str, float] = field(default_factory=dict[str, float])
    notes: list[str] = field(default_factory=list[str])

    @property
    def is_under(self) -> bool:
        """Whether a floor is missed, or could not be shown to be met."""
        row = self.row
        if row.at_most is not None:
            return self.ours is None or self.ours > row.at_most
        is_ratio_under = row.floor is not None and (self.ratio or 0) < row.floor
        return is_ratio_under or (row.is_share_floor and not self._has_share)

    @property
    def _has_share(self) -> bool:
        """Whether we get the share of the limit that is wanted."""
        return self.row.of_limit is None or (self.of_limit or 0) >= self.row.of_limit

    @property
    def verdict(self) -> str:
        """One word for the table."""
        row = self.row
        if self.ours is None:
            return "VOID"
        if self.is_under:
            return "UNDER"
        if row.goal is not None:
            return "goal" if self.ratio is not None and self.ratio >= row.goal else "floor"
        if row.at_most is not None:
            return "ok"
        return "ok" if self._has_share else "below"


async def run_scenario(
    fleet: Fleet, scenario: Scenario, rows: Sequence[Row], *, rounds: int, say: Progress
) -> list[Sample]:
    """Run all rounds of one scenario, and once more if its rows scatter too much."""
    lanes = [lane for lane in scenario.lanes if lane.spec.side in fleet.sides]
    rounds = max(scenario.min_rounds, min(rounds, scenario.max_rounds))
    taken: list[Sample] = []
    if not lanes:
        return taken
    failed = await _prepare(fleet, scenario, lanes, say)
    taken += failed
    broken = {sample.lane for sample in failed}
    lanes = [lane for lane in lanes if lane.name not in broken]
    for attempt in range(2):
        for number in range(rounds):
            if number and scenario.renewed_every and number % scenario.renewed_every == 0:
                for spec in {lane.spec for lane in lanes}:
                    fleet.stop(spec)
                taken += await _prepare(fleet, scenario, lanes, say)
            new = await _round(fleet, scenario, lanes, attempt * rounds + number)
            taken += new
            say(_progress(scenario, number, rounds, new))
        scattered = [
            row.key for row in rows if find(row, taken).spread > SPREAD_LIMIT and rounds > 1
        ]
        if not scattered or attempt:
            break
        say(f"{scenario.name}: {', '.join(scattered)} scattered, once more")
    return taken


async def _prepare(
    fleet: Fleet, scenario: Scenario, lanes: Iterable[Lane], say: Progress
) -> list[Sample]:
    """Start and warm the servers; a lane whose server fails is reported and left out."""
    failed: list[Sample] = []
    if scenario.is_fresh:
        return failed
    for lane in lanes:
        try:
            await scenario.prepare(await fleet.get(lane.spec))
        except VOIDING as error:
            say(f"{scenario.name}: {lane.name} left out: {error}")
            failed.append(Sample(scenario.name, lane.name, 0, None, _brief(error)))
    return failed


async def _round(
    fleet: Fleet, scenario: Scenario, lanes: Sequence[Lane], number: int
) -> list[Sample]:
    """Sample every lane there and back again."""
    often = [lane for lane in lanes if not lane.is_once]
    there = [lane for lane in lanes if not lane.is_once or number == 0]
    return [await _sample(fleet, scenario, lane, number) for lane in [*there, *reversed(often)]]


async def _sample(fleet: Fleet, scenario: Scenario, lane: Lane, number: int) -> Sample:
    """Take one sample, and again while the machine is busy with something else.

    Of several the least disturbed counts, whatever it found.
    """
    is_repeatable = not (scenario.is_fresh or lane.is_once)
    best: Outcome | None = None
    for _ in range(1 + RETAKES * is_repeatable):
        try:
            outcome = await _take(fleet, scenario, lane)
        except VOIDING as error:
            return Sample(scenario.name, lane.name, number, None, _brief(error))
        if best is None or outcome.foreign_share < best.foreign_share:
            best = outcome
        if best.foreign_share <= FOREIGN_SHARE_LIMIT:
            break
    return Sample(scenario.name, lane.name, number, best)


async def _take(fleet: Fleet, scenario: Scenario, lane: Lane) -> Outcome:
    if not scenario.is_fresh:
        return await lane.sample(await fleet.get(lane.spec))
    server = await fleet.start(lane.spec)
    try:
        return await lane.sample(server)
    finally:
        server.stop()


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000]


def _progress(scenario: Scenario, number: int, rounds: int, samples: Sequence[Sample]) -> str:
    parts: list[str] = []
    for lane in dict.fromkeys(sample.lane for sample in samples):
        found = [sample.outcome for sample in samples if sample.lane == lane and sample.outcome]
        if not found:
            parts.append(f"{lane} VOID")
            continue
        key = next(iter(found[0].values))
        value = statistics.fmean(outcome.values[key] for outcome in found)
        parts.append(f"{lane} {value:,.4g}")
    errors = {sample.lane: sample.error for sample in samples if sample.error}
    lines = "".join(f"\n    void: {lane}: {text[:NOTE_LENGTH]}" for lane, text in errors.items())
    return f"{scenario.name} {number + 1}/{rounds}: {', '.join(parts)}{lines}"


def find(row: Row, samples: Sequence[Sample]) -> Finding:
    """Work out one row from the samples of its scenario."""
    mine = [sample for sample in samples if sample.scenario == row.scenario]
    ours = _by_round(mine, row.ours, row.value)
    theirs = _by_round(mine, row.theirs, row.value)
    limits = _by_round(mine, row.limit, row.value)
    ratios = _ratios(row, ours, theirs)
    shares = _ratios(row, ours, limits)
    # The spread is that of what the verdict rests on.
    deciding = ratios if row.theirs else shares if row.limit else list(ours.values())
    found = Finding(
        row,
        ours=_median(ours.values()),
        theirs=_median(theirs.values()),
        limit=_median(limits.values()),
        ratio=_median(ratios),
        of_limit=_median(shares),
        spread=_spread(deciding),
        rounds=len(deciding),
    )
    for lane in filter(None, (row.ours, row.theirs, row.limit)):
        _annotate(found, lane, [sample for sample in mine if sample.lane == lane])
    return found


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None


def _by_round(samples: Iterable[Sample], lane: str | None, key: str) -> dict[int, float]:
    """Return the mean of a lane's samples per round."""
    rounds: dict[int, list[float]] = {}
    for sample in samples:
        if sample.lane == lane and sample.outcome:
            rounds.setdefault(sample.round, []).append(sample.outcome.values[key])
    return {number: statistics.fmean(values) for number, values in rounds.items()}


def _ratios(row: Row, ours: dict[int, float], others: dict[int, float]) -> list[float]:
    """Return per-round ratios in our favour; a side sampled once is held against every round."""
    if len(others) == 1 and len(ours) > 1:
        others = dict.fromkeys(ours, next(iter(others.values())))
    pairs = [(ours[number], others[number]) for number in ours if number in others]
    if row.is_lower_better:
        pairs = [(other, own) for own, other in pairs]
    return [top / bottom for top, bottom in pairs if bottom > 0]


def _spread(values: Sequence[float]) -> float:
    """Return the distance between the quartiles as a share of the median."""
    if len(values) < 3:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def _annotate(found: Finding, lane: str, samples: Sequence[Sample]) -> None:
    """Add a lane's CPU per operation, and whatever makes the row less trustworthy."""
    outcomes = [sample.outcome for sample in samples if sample.outcome]
    errors = [sample.error for sample in samples if sample.error]
    if errors:
        brief = errors[0].splitlines()[0][:NOTE_LENGTH]
        found.notes.append(f"{lane}: {len(errors)} void, the first: {brief}")
    if not outcomes:
        return
    found.cpu_us[lane] = statistics.median(one.server_cpu_us_per_op for one in outcomes)
    share = statistics.median(one.load_share for one in outcomes)
    if share > LOAD_SHARE_LIMIT:
        found.notes.append(f"{lane}: load generator at {share:.0%} of its core")
