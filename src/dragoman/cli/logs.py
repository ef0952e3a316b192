"""How log lines look: for people, or one JSON object a line for machines."""

from __future__ import annotations

import logging
import sys
from typing import Final

import msgspec

from dragoman import telemetry
from dragoman.model.timestamps import format_timestamp

__all__ = ("FORMATS", "LEVELS", "set_up_logging")

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = format_timestamp(int(record.created * 1000))
        line = f"{when} {record.levelname.lower():7} {record.name}: {record.getMessage()}"
        if telemetry.active is not None and (trace_id := telemetry.active.ids()[0]):
            line += f" [trace {trace_id}]"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": format_timestamp(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
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
