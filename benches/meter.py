"""What is taken down about a sample besides its result: CPU on both sides, and the machine."""

import gc
import resource
import time
from dataclasses import dataclass, field
from types import TracebackType

from benches.servers import Server, busy_seconds, spin_on_server_core

__all__ = ("LOAD_SHARE_LIMIT", "Meter", "Outcome")

# Above this share of its core the load generator starts to measure itself.
LOAD_SHARE_LIMIT = 0.60

# The kernel's clocks tick every 10 ms: anything shorter than this has no CPU readings.
TICK_SECONDS = 0.01
SHORT_SECONDS = 0.2

# About ten milliseconds of plain interpreter work.
SPIN_ROUNDS = 150_000


@dataclass
class Outcome:
    """One sample: how many operations, the values found, and the meter's readings."""

    ops: int
    values: dict[str, float]
    wall_seconds: float = 0.0
    server_cpu_us_per_op: float = 0.0
    database_cpu_us_per_op: float = 0.0
    load_share: float = 0.0
    foreign_share: float = 0.0
    spin_ns: int = 0


@dataclass
class Meter:
    """Read the clocks around the measured part of a sample, and keep the collector out of it."""

    server: Server
    wall_seconds: float = 0.0
    server_cpu_seconds: float = 0.0
    database_cpu_seconds: float = 0.0
    load_cpu_seconds: float = 0.0
    busy_seconds: float = 0.0
    _marks: tuple[float, float, float, float, float] = field(default=(0.0, 0.0, 0.0, 0.0, 0.0))

    def __enter__(self) -> "Meter":
        gc.collect()
        gc.disable()
        self._marks = (
            time.perf_counter(),
            self.server.cpu_seconds(),
            self.server.database_cpu_seconds(),
            _own_cpu_seconds(),
            busy_seconds(),
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        wall, server_cpu, database_cpu, own_cpu, busy = self._marks
        self.wall_seconds = time.perf_counter() - wall
        self.load_cpu_seconds = _own_cpu_seconds() - own_cpu
        self.busy_seconds = busy_seconds() - busy
        gc.enable()
        if error is None:
            self.server_cpu_seconds = self.server.cpu_seconds() - server_cpu
            self.database_cpu_seconds = self.server.database_cpu_seconds() - database_cpu

    def per_cpu_second(self, ops: int) -> float:
        """Return how many of the operations the server did in a second of its CPU time."""
        return ops / max(self.server_cpu_seconds, TICK_SECONDS)

    def outcome(self, ops: int, **values: float) -> Outcome:
        """Close the sample: spin for calibration and put everything together."""
        wall = self.wall_seconds
        known = self.server_cpu_seconds + self.database_cpu_seconds + self.load_cpu_seconds
        foreign = self.busy_seconds - known
        outcome = Outcome(ops, values, wall, spin_ns=spin_on_server_core(SPIN_ROUNDS))
        if ops and wall >= SHORT_SECONDS:
            outcome.server_cpu_us_per_op = self.server_cpu_seconds / ops * 1e6
            outcome.database_cpu_us_per_op = self.database_cpu_seconds / ops * 1e6
            outcome.load_share = self.load_cpu_seconds / wall
            outcome.foreign_share = max(0.0, foreign / wall)
        return outcome


def _own_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
