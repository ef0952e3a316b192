"""How often callers may ask: per address at the door, per caller, operation and tenant at the gate.

The door counts requests, whatever they are and whoever sends them, before anything is read. It also
counts those that were turned away for bad credentials, so that nobody can try out many. The gate
knows the operation, and counts what it weighs.

All of it is kept in this process. Replicas tell each other what is used up, see ``share``.
"""

from __future__ import annotations

import math
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
from dragoman.server.admission.gcra import Rate, Verdict, parse_rate
from dragoman.server.admission.rate_table import RateTable

__all__ = (
    "WEIGHTS",
    "RateLimits",
    "RateSettings",
    "allowance",
    "allowance_headers",
    "refusal_headers",
)

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


class RateSettings(Struct, frozen=True, kw_only=True):
    """The settings of the server that matter here, by their names there; "" is no limit."""

    rate_limit: str = ""
    rate_limit_per_address: str = ""
    rate_limit_per_tenant: str = ""
    rate_limit_per_operation: Mapping[str, str] = {}
    rate_limit_weights: Mapping[str, int] = {}
    rate_limit_refusals: str = ""


class RateLimits:
    """Lets callers in as often as the settings say.

    Attributes:
        is_at_gate: whether there is any limit at the gate.
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
        """Tell whether there is any limit at the door; for refusals, once there was one."""
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
        """Count a request at the door and return what is left for its address.

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
