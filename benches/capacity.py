"""How much hardware a load takes, on paper: `python -m benches.capacity --help`.

Multiplies a load by what one event, hint, read, turn and stream was measured to cost
(`results/units.json`, by `python -m benches.units`), and prints the arithmetic. It knows of no
effect that is not in these products: queueing, locks and caches are what the share of use below 1
is for.
"""

import argparse
import json
from dataclasses import dataclass, field, fields
from math import ceil
from pathlib import Path

UNITS = Path(__file__).with_name("results") / "units.json"

MILLION = 10**6
DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Units:
    """What one of each costs. CPU in microseconds, sizes in bytes.

    Those without a prefix are of PostgreSQL as the store; a hint is said once and heard by each
    replica where the task is followed.
    """

    writes_per_second: float
    write_cpu_us: float
    write_database_cpu_us: float
    task_bytes: float
    event_bytes: float
    event_logged_bytes: float
    read_cpu_us: float
    read_database_cpu_us: float
    nats_hint_cpu_us: float
    nats_heard_cpu_us: float
    postgres_hint_cpu_us: float
    postgres_heard_cpu_us: float
    event_cpu_us: float
    turn_cpu_us: float
    stream_bytes: float


@dataclass(frozen=True)
class Load:
    """What is asked of all replicas together."""

    agents: int = field(default=MILLION, metadata={"help": "agents that have a task open"})
    events: int = field(default=10**5, metadata={"help": "events a second, of all tasks"})
    events_per_task: int = field(default=50, metadata={"help": "events from begin to end"})
    streaming: float = field(default=0.1, metadata={"help": "share of tasks with a stream open"})
    elsewhere: float = field(
        default=0.1, metadata={"help": "share of streams that another replica feeds"}
    )
    retention_days: float = field(default=1.0, metadata={"help": "how long ended tasks are kept"})


@dataclass(frozen=True)
class Site:
    """What one machine of each kind is trusted with."""

    use: float = field(default=0.5, metadata={"help": "share of what is there that may be in use"})
    stream_gb: float = field(default=1.0, metadata={"help": "memory of a replica for streams, GB"})
    database_cores: int = field(default=16, metadata={"help": "cores of a database"})
    logged_mb: float = field(
        default=40.0, metadata={"help": "log a database writes and ships, MB a second"}
    )
    database_tb: float = field(default=4.0, metadata={"help": "disk of a database, TB"})


@dataclass(frozen=True)
class Line:
    """One line of the result: how it came about, and what it is."""

    what: str
    how: str
    value: str


def plan(load: Load, site: Site, units: Units) -> list[Line]:
    """Return the arithmetic, line by line."""
    heard_share = load.streaming * load.elsewhere
    following = heard_share * (units.nats_heard_cpu_us + units.read_cpu_us)
    event_us = units.event_cpu_us + units.write_cpu_us + units.nats_hint_cpu_us + following
    tasks = load.events / load.events_per_task
    cores = (load.events * event_us + tasks * units.turn_cpu_us) / MILLION
    streams = round(load.agents * load.streaming)
    stream_gb = streams * units.stream_bytes / 1e9
    by_writes = ceil(load.events / units.writes_per_second / site.use)
    by_cpu, by_memory = ceil(cores / site.use), ceil(stream_gb / site.stream_gb)
    replicas = max(by_cpu, by_writes, by_memory)

    database_us = units.write_database_cpu_us + heard_share * units.read_database_cpu_us
    database_cores = load.events * database_us / MILLION
    logged = load.events * units.event_logged_bytes / 1e6
    per_day = load.events * DAY_SECONDS * units.event_bytes
    per_day += tasks * DAY_SECONDS * units.task_bytes
    open_bytes = load.agents * (units.task_bytes + load.events_per_task / 2 * units.event_bytes)
    kept = (per_day * load.retention_days + open_bytes) / 1e12
    by_cores = ceil(database_cores / site.use / site.database_cores)
    by_log, by_disk = ceil(logged / site.logged_mb), ceil(kept / site.database_tb)
    databases = max(by_cores, by_log, by_disk)

    hears = load.events * units.postgres_heard_cpu_us / MILLION
    return [
        Line(
            "CPU of an event in a replica",
            f"{units.event_cpu_us:.1f} + write {units.write_cpu_us:.1f} + hint "
            f"{units.nats_hint_cpu_us:.1f} + {heard_share:.2g} x (heard "
            f"{units.nats_heard_cpu_us:.1f} + read {units.read_cpu_us:.0f})",
            f"{event_us:.1f} µs",
        ),
        Line("tasks begun", f"{load.events:,} ÷ {load.events_per_task}", f"{tasks:,.0f} a second"),
        Line(
            "CPU of all replicas",
            f"{load.events:,} x {event_us:.1f} µs + {tasks:,.0f} x {units.turn_cpu_us:.0f} µs",
            f"{cores:.1f} cores",
        ),
        Line(
            "memory of all streams",
            f"{load.agents:,} x {load.streaming:g} x {units.stream_bytes / 1e3:.0f} kB",
            f"{stream_gb:.1f} GB",
        ),
        Line(
            "**replicas**, of one core each",
            f"the largest of {cores:.1f} ÷ {site.use:g}, writes {load.events:,} ÷ "
            f"{units.writes_per_second:,.0f} ÷ {site.use:g} and {stream_gb:.1f} ÷ "
            f"{site.stream_gb:g}",
            f"**{replicas}**",
        ),
        Line(
            "hints over NATS",
            f"{load.events:,} in, x {heard_share:.2g} out",
            f"{load.events * (1 + heard_share):,.0f} a second",
        ),
        Line(
            "the same by LISTEN/NOTIFY",
            f"each replica hears all: {load.events:,} x {units.postgres_heard_cpu_us:.2f} µs",
            f"{hears:.2f} cores of every replica",
        ),
        Line(
            "CPU of the databases",
            f"{load.events:,} x ({units.write_database_cpu_us:.1f} + {heard_share:.2g} x "
            f"{units.read_database_cpu_us:.0f}) µs",
            f"{database_cores:.1f} cores",
        ),
        Line(
            "their write-ahead log",
            f"{load.events:,} x {units.event_logged_bytes:.0f} bytes",
            f"{logged:.0f} MB a second",
        ),
        Line(
            "kept of one day",
            f"86,400 x ({load.events:,} x {units.event_bytes:.0f} + {tasks:,.0f} x "
            f"{units.task_bytes:.0f}) bytes",
            f"{per_day / 1e12:.1f} TB",
        ),
        Line(
            "kept in all",
            f"{load.retention_days:g} days and {load.agents:,} open tasks",
            f"{kept:.1f} TB",
        ),
        Line(
            "**databases**",
            f"the largest of {database_cores:.1f} ÷ {site.use:g} ÷ {site.database_cores}, "
            f"{logged:.0f} ÷ {site.logged_mb:g} and {kept:.1f} ÷ {site.database_tb:g}",
            f"**{databases}**",
        ),
    ]


def table(lines: list[Line]) -> str:
    """Return the lines as Markdown."""
    rows = [f"| {line.what} | {line.how} | {line.value} |" for line in lines]
    return "\n".join(["| | how | |", "|---|---|---|", *rows])


SHOWN = {
    "writes_per_second": "events that one replica makes durable in a second, a batch at a time",
    "write_cpu_us": "CPU of an event's write in the replica, µs",
    "write_database_cpu_us": "the same in PostgreSQL, µs",
    "event_bytes": "what an event of 40 characters takes on disk, bytes",
    "event_logged_bytes": "the same in the write-ahead log, bytes",
    "task_bytes": "what a task takes besides, bytes",
    "read_cpu_us": "CPU of reading on where a task was left, in the replica, µs",
    "read_database_cpu_us": "the same in PostgreSQL, µs",
    "nats_hint_cpu_us": "CPU of a hint over NATS, µs",
    "nats_heard_cpu_us": "the same where it is heard, µs",
    "nats_hint_ms": "how long it is on its way, ms",
    "postgres_hint_cpu_us": "CPU of a hint by LISTEN/NOTIFY, µs",
    "postgres_heard_cpu_us": "the same where it is heard, which is at every replica, µs",
    "postgres_hint_ms": "how long it is on its way, ms",
    "event_cpu_us": "CPU of an event from function to reader, on SQLite, µs",
    "turn_cpu_us": "CPU of a whole SendMessage, on SQLite, µs",
    "stream_bytes": "memory of an idle stream, bytes",
}
"""What the figures in the file mean."""


def table_of_units(path: Path = UNITS) -> str:
    """Return the measured units as Markdown."""
    found = json.loads(path.read_text("utf-8"))
    rows = [f"| {meaning} | {_short(found[name])} |" for name, meaning in SHOWN.items()]
    return "\n".join(["| what | measured |", "|---|---|", *rows])


def _short(value: float) -> str:
    """Return as many figures as mean anything."""
    return f"{value:,.0f}" if value >= 20 else f"{value:.2g}"


def read_units(path: Path = UNITS) -> Units:
    """Return the measured units; what else the file says is for its reader."""
    found = json.loads(path.read_text("utf-8"))
    return Units(**{each.name: found[each.name] for each in fields(Units)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.capacity", description=__doc__)
    parser.add_argument("--units", type=Path, default=UNITS, help="the measured costs")
    for kind in (Load, Site):
        for each in fields(kind):
            parser.add_argument(
                f"--{each.name.replace('_', '-')}",
                type=type(each.default),
                default=each.default,
                help=f"{each.metadata['help']} (default {each.default:,})",
            )
    given = vars(parser.parse_args())
    load = Load(**{each.name: given[each.name] for each in fields(Load)})
    site = Site(**{each.name: given[each.name] for each in fields(Site)})
    print(table(plan(load, site, read_units(given["units"]))))


if __name__ == "__main__":
    main()
