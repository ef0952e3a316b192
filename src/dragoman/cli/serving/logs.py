"""How log lines look: for people, or one JSON object a line for machines."""

from __future__ import annotations

import logging
import sys
from typing import Final, get_args

import msgspec

from dragoman import telemetry
from dragoman.model.timestamps import format_timestamp
from dragoman.server.settings import LogFormat, LogLevel

__all__ = ("FORMATS", "LEVELS", "set_up_logging", "tell_replica")

LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
FORMATS: Final[tuple[str, ...]] = get_args(LogFormat)


class _Formatter(logging.Formatter):
    """What both forms know: which of several servers this is; "" if it is the only one."""

    replica = ""


class _Text(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = format_timestamp(int(record.created * 1000))
        who = f"[{self.replica}] " if self.replica else ""
        line = f"{when} {record.levelname.lower():7} {who}{record.name}: {record.getMessage()}"
        if telemetry.active is not None and (trace_id := telemetry.active.ids()[0]):
            line += f" [trace {trace_id}]"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class _Json(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": format_timestamp(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self.replica:
            entry["replica"] = self.replica
        if telemetry.active is not None and (ids := telemetry.active.ids())[0]:
            entry["trace_id"], entry["span_id"] = ids
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


def set_up_logging(level: str, form: str) -> None:
    """Send log lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # uvicorn tells of its start and stop; our banner and our own lines say it better.
    logging.getLogger("uvicorn.error").setLevel("DEBUG" if level == "debug" else "WARNING")


def tell_replica(replica_id: str) -> None:
    """Name this server in every line from now on, as one of several."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, _Formatter):
            handler.formatter.replica = replica_id
