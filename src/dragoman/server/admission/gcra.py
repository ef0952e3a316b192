"""GCRA: how often somebody may ask, worked out from one number per caller.

The generic cell rate algorithm (ITU-T I.371): of each caller only the moment is kept at which the
whole allowance is back. It comes back evenly, not all at once at the end of a window, so there is
no edge at which twice the rate gets through; and a moment that has passed means the same as a
caller nobody has heard of, so it can be forgotten without a trace.

Time is an argument. It is counted in ticks, as many to a millisecond as the rate has units in its
period: so one unit always is a whole number of them, and nothing is rounded.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from dragoman.errors import UsageError

__all__ = ("Rate", "Verdict", "charge", "parse_rate", "weigh")

_WORDING: Final = re.compile(r"([1-9][0-9]{0,8})\s*/\s*([a-z]+)")

_PERIODS_MS: Final = {
    **dict.fromkeys(("s", "sec", "second"), 1000),
    **dict.fromkeys(("min", "minute"), 60_000),
    **dict.fromkeys(("h", "hour"), 3_600_000),
    **dict.fromkeys(("d", "day"), 86_400_000),
}


class Rate(Struct, frozen=True, gc=False):
    """So many units in a period; as many may come at once. 10/s is 600/min in smaller gulps."""

    units: int
    period_ms: int


class Verdict(Struct, frozen=True, gc=False):
    """Whether somebody may ask now, and what is left then.

    Attributes:
        full: the tick at which the whole allowance is back; to be kept if the answer is yes.
        limit, remaining: units of the allowance, whole and left.
        reset_ms: the time at which the whole allowance is back.
        retry_ms: how long until the same question is answered with yes; 0 if it is now.
    """

    full: int
    limit: int
    remaining: int
    reset_ms: int
    retry_ms: int

    @property
    def is_allowed(self) -> bool:
        """Tell whether the answer is yes."""
        return self.retry_ms == 0


def parse_rate(text: str) -> Rate:
    """Read a rate such as ``600/min``.

    Raises:
        UsageError: it is none; says how one is written.
    """
    found = _WORDING.fullmatch(text.strip().lower())
    period_ms = _PERIODS_MS.get(found[2]) if found else None
    if found is None or period_ms is None:
        raise UsageError(f"{text!r} is no rate; write a number per s, min, h or day: 600/min")
    return Rate(int(found[1]), period_ms)


def weigh(rate: Rate, full: int, cost: int, now_ms: int) -> Verdict:
    """Decide on a request that costs so many units.

    Args:
        full: what was kept of this caller; 0 for one nobody has heard of.
    """
    ticks_of_unit = rate.period_ms
    now = now_ms * rate.units
    burst = rate.period_ms * rate.units
    begin = max(full, now)
    end = begin + cost * ticks_of_unit
    missing = end - now - burst
    if missing > 0:
        left = (burst - (begin - now)) // ticks_of_unit
        reset_ms = -(-begin // rate.units)
        return Verdict(full, rate.units, max(0, left), reset_ms, -(-missing // rate.units))
    return Verdict(end, rate.units, -missing // ticks_of_unit, -(-end // rate.units), 0)


def charge(rate: Rate, full: int, units: int, now_ms: int) -> int:
    """Return what to keep of a caller to whom somebody else has granted so many units.

    Nobody can owe more than a whole allowance, whatever was granted: it is back within a period.
    """
    now = now_ms * rate.units
    burst = rate.period_ms * rate.units
    return min(max(full, now) + units * rate.period_ms, now + burst)
