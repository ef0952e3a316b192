"""Rate limits: per address before a request is read; per caller, operation and tenant after.

Before anything is read, requests are counted whatever they are and whoever sends them. So are those
that were refused for bad credentials, so that nobody can try out many. Once the operation is known,
it counts for what it weighs.

All of it is kept in this process. Replicas tell each other what is used up, see ``share``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman.bus.base import Spent
from dragoman.clock import Clock
from dragoman.errors import RateLimitedError, UsageError
from dragoman.model.operations import Operation
from dragoman.server.settings import RateSettings

__all__ = (
    "WEIGHTS",
    "Rate",
    "RateLimits",
    "RateTable",
    "Verdict",
    "allowance",
    "allowance_headers",
    "charge",
    "parse_rate",
    "refusal_headers",
    "weigh",
)


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


CAPACITY: Final = 100_000
"""Callers in one period; about 15 MB if they all come."""

CELLS: Final = 1024
"""Which cell a stranger gets depends on the hash of this process, which he cannot know."""


PARTS: Final = 8
"""In so many parts others are told of an allowance. With N replicas a rate can be exceeded by
N - 1 parts; more parts would be more to tell."""


class RateTable:
    """The callers under one rate.

    Attributes:
        name: the same for the same limit at every replica.
    """

    __slots__ = (
        "_capacity",
        "_cells",
        "_old",
        "_part",
        "_turned_ms",
        "_untold",
        "_young",
        "name",
        "rate",
    )

    def __init__(self, rate: Rate, name: str = "", *, capacity: int = CAPACITY) -> None:
        """Start with nobody known."""
        self.rate: Final = rate
        self.name: Final = name
        self._part = max(1, rate.units // PARTS)
        self._untold: dict[Hashable, int] = {}
        self._capacity = capacity
        self._young: dict[Hashable, int] = {}
        self._old: dict[Hashable, int] = {}
        self._cells: dict[int, int] = {}
        self._turned_ms = 0

    def __len__(self) -> int:
        """Count what is kept."""
        return len(self._young) + len(self._old) + len(self._cells)

    def weigh(self, caller: Hashable, cost: int, now_ms: int) -> Verdict:
        """Decide on a request, without counting it."""
        return weigh(self.rate, self._full(caller, now_ms), cost, now_ms)

    def charge(self, caller: Hashable, units: int, now_ms: int) -> None:
        """Count what somebody else has let through."""
        self._keep(caller, charge(self.rate, self._full(caller, now_ms), units, now_ms))

    def _full(self, caller: Hashable, now_ms: int) -> int:
        """Return what is kept of a caller; 0 for nothing."""
        if now_ms - self._turned_ms >= self.rate.period_ms:
            self._turn(now_ms)
        full = self._young.get(caller) or self._old.get(caller)
        if full is None:
            full = self._cells.get(hash(caller) % CELLS, 0) if self._cells else 0
        return full

    def _turn(self, now_ms: int) -> None:
        self._old, self._young = self._young, {}
        self._untold = {}
        self._turned_ms = now_ms
        now = now_ms * self.rate.units
        self._cells = {cell: full for cell, full in self._cells.items() if full > now}

    def count(self, caller: Hashable, verdict: Verdict) -> None:
        """Count a request that was allowed."""
        self._keep(caller, verdict.full)

    def _keep(self, caller: Hashable, full: int) -> None:
        is_known = self._old.pop(caller, None) is not None or caller in self._young
        if is_known or len(self._young) + len(self._old) < self._capacity:
            self._young[caller] = full
        else:
            self._cells[hash(caller) % CELLS] = full

    def to_tell(self, caller: Hashable, cost: int) -> int:
        """Note a cost that was counted; return what others are to be told now, mostly nothing.

        Strangers who share a cell are nobody that others would know.
        """
        if caller not in self._young:
            return 0
        untold = self._untold.get(caller, 0) + cost
        if untold < self._part:
            self._untold[caller] = untold
            return 0
        self._untold.pop(caller, None)
        return untold


WEIGHTS: Final[Mapping[Operation, int]] = {
    # A send makes the agent work, which costs more than all the rest.
    Operation.SEND_MESSAGE: 10,
    Operation.SEND_STREAMING_MESSAGE: 10,
    # A page of tasks is as much to read and write as many tasks; a stream lasts.
    Operation.LIST_TASKS: 5,
    Operation.SUBSCRIBE_TO_TASK: 5,
}
"""What an operation costs unless the settings say otherwise; those that are not here cost 1."""


Header: TypeAlias = tuple[bytes, bytes]

_NAMES: Final = ("limit", "remaining", "reset")


class RateLimits:
    """Lets callers in as often as the settings say.

    Attributes:
        is_at_gate: whether any limit applies once the operation is known.
    """

    def __init__(self, settings: RateSettings, clock: Clock) -> None:
        """Read the rates.

        Raises:
            UsageError: a rate or the name of an operation is none, or an operation weighs more
                than ever is allowed.
        """
        self._clock = clock
        self._per_address = _table("rate_limit_per_address", settings.rate_limit_per_address)
        self._refusals = _table("rate_limit_refusals", settings.rate_limit_refusals)
        self._per_caller = _table("rate_limit", settings.rate_limit)
        self._per_tenant = _table("rate_limit_per_tenant", settings.rate_limit_per_tenant)
        self._per_operation = {
            _operation("rate_limit_per_operation", name): RateTable(
                _rate(f"rate_limit_per_operation.{name}", text), name
            )
            for name, text in settings.rate_limit_per_operation.items()
        }
        self._publish: Callable[[Spent], None] | None = None
        self._weights = dict.fromkeys(Operation, 1) | dict(WEIGHTS)
        for name, weight in settings.rate_limit_weights.items():
            self._weights[_operation("rate_limit_weights", name)] = weight
        self.is_at_gate: Final = bool(
            settings.rate_limit or settings.rate_limit_per_tenant or self._per_operation
        )
        self._check_weights()

    @property
    def is_at_door(self) -> bool:
        """Whether any limit applies before a request is read; for refusals, once there was one."""
        return self._per_address is not None or bool(self._refusals)

    def share(self, publish: Callable[[Spent], None]) -> None:
        """Keep allowances together with other replicas, about; what was counted is forgotten.

        Others are told of callers by a digest: names and addresses need not be known to whoever
        carries it.
        """
        self._publish = publish

    def hear(self, spent: Spent) -> None:
        """Count what another replica has let through; nothing that it says gives anything back."""
        if spent.units <= 0:
            return
        name, _, caller = spent.allowance.partition("/")
        for table in self._tables():
            if table.name == name:
                table.charge(caller, spent.units, self._clock.uptime_ms())

    def meet(self, address: str) -> Verdict | None:
        """Count a request that is not read yet and return what is left for its address.

        Raises:
            RateLimitedError: too many have come from there, or too many were turned away.
        """
        now_ms = self._clock.uptime_ms()
        caller = self._name(address)
        if self._refusals is not None:
            refusals = self._refusals.weigh(caller, 1, now_ms)
            if not refusals.is_allowed:
                raise _error("your address for bad credentials", self._told(refusals))
        if self._per_address is None:
            return None
        verdict = self._per_address.weigh(caller, 1, now_ms)
        if not verdict.is_allowed:
            raise _error("your address", self._told(verdict))
        self._count(self._per_address, caller, 1, verdict)
        return self._told(verdict)

    def turned_away(self, address: str) -> None:
        """Count a request whose credentials were not good."""
        if self._refusals is not None:
            caller = self._name(address)
            verdict = self._refusals.weigh(caller, 1, self._clock.uptime_ms())
            if verdict.is_allowed:
                self._count(self._refusals, caller, 1, verdict)

    def admit(self, operation: Operation, caller: Hashable, tenant: str) -> Verdict | None:
        """Count an operation and return the least that is left of the limits it falls under.

        Whoever is refused by one of them is not counted by the others: else a caller beyond its
        own limit could use up that of its tenant.

        Raises:
            RateLimitedError: the caller, or its tenant, has asked too often.
        """
        now_ms = self._clock.uptime_ms()
        found: list[tuple[RateTable, Hashable, int, Verdict]] = []
        for whose, table, key, cost in self._limits_of(
            operation, self._name(caller), self._name(tenant)
        ):
            verdict = table.weigh(key, cost, now_ms)
            if not verdict.is_allowed:
                raise _error(whose, self._told(verdict))
            found.append((table, key, cost, verdict))
        for each in found:
            self._count(*each)
        least = min((verdict for *_, verdict in found), key=_remaining, default=None)
        return None if least is None else self._told(least)

    def _told(self, verdict: Verdict) -> Verdict:
        """Return a verdict for a client, who knows the time of day only."""
        ahead_ms = self._clock.now_ms() - self._clock.uptime_ms()
        return replace(verdict, reset_ms=verdict.reset_ms + ahead_ms)

    def _name(self, caller: Hashable) -> Hashable:
        """Return what a caller is counted by."""
        return caller if self._publish is None else _digest(caller)

    def _count(self, table: RateTable, caller: Hashable, cost: int, verdict: Verdict) -> None:
        table.count(caller, verdict)
        if self._publish is not None and (units := table.to_tell(caller, cost)):
            self._publish(Spent(f"{table.name}/{caller}", units))

    def _tables(self) -> Iterable[RateTable]:
        tables = (self._per_address, self._refusals, self._per_caller, self._per_tenant)
        yield from (table for table in tables if table is not None)
        yield from self._per_operation.values()

    def _limits_of(
        self, operation: Operation, caller: Hashable, tenant: Hashable
    ) -> Iterator[tuple[str, RateTable, Hashable, int]]:
        weight = self._weights[operation]
        if self._per_caller is not None:
            yield "you", self._per_caller, caller, weight
        if (table := self._per_operation.get(operation)) is not None:
            yield f"you for {operation.value}", table, caller, 1
        if self._per_tenant is not None:
            yield "your tenant", self._per_tenant, tenant, weight

    def _check_weights(self) -> None:
        for name, table in (
            ("rate_limit", self._per_caller),
            ("rate_limit_per_tenant", self._per_tenant),
        ):
            for operation, weight in self._weights.items():
                if table is not None and weight > table.rate.units:
                    raise UsageError(
                        f"{name}: {operation.value} weighs {weight} and could never be done at "
                        f"{table.rate.units} units; see rate_limit_weights"
                    )


def allowance(verdict: Verdict) -> dict[str, str]:
    """Return what tells a client how much is left, and when (in Unix time) all of it is back."""
    return {
        "limit": str(verdict.limit),
        "remaining": str(verdict.remaining),
        "reset": str(math.ceil(verdict.reset_ms / 1000)),
    }


def allowance_headers(verdict: Verdict) -> tuple[Header, ...]:
    """Return the same as headers."""
    return (
        (b"x-ratelimit-limit", b"%d" % verdict.limit),
        (b"x-ratelimit-remaining", b"%d" % verdict.remaining),
        (b"x-ratelimit-reset", b"%d" % math.ceil(verdict.reset_ms / 1000)),
    )


def refusal_headers(error: RateLimitedError) -> tuple[Header, ...]:
    """Return what an error tells of an allowance, as headers; none if it tells nothing of it."""
    told = error.metadata
    if not all(told.get(name, "").isdecimal() for name in _NAMES):
        return ()
    return tuple((b"x-ratelimit-%b" % name.encode(), told[name].encode()) for name in _NAMES)


def _remaining(verdict: Verdict) -> int:
    return verdict.remaining


def _error(whose: str, verdict: Verdict) -> RateLimitedError:
    seconds = math.ceil(verdict.retry_ms / 1000)
    return RateLimitedError(
        f"Rate limit exceeded: the limit for {whose} is reached; try again in {seconds} s",
        retry_after_seconds=seconds,
        metadata=allowance(verdict),
    )


def _table(name: str, text: str) -> RateTable | None:
    return RateTable(_rate(name, text), name) if text else None


@lru_cache(maxsize=4096)
def _digest(caller: Hashable) -> str:
    """Return a name that is the same at every replica: callers are texts, or tuples of them."""
    return blake2b(repr(caller).encode(), digest_size=12).hexdigest()


def _rate(name: str, text: str) -> Rate:
    try:
        return parse_rate(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _operation(name: str, operation: str) -> Operation:
    try:
        return Operation(operation)
    except ValueError:
        known = ", ".join(one.value for one in Operation)
        raise UsageError(
            f"{name}: there is no operation {operation!r}; there are {known}"
        ) from None
