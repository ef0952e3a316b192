"""Delegation: a job in escrow, told to another agent; and the gate before that. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.extensions.xpr.chain.rows import JobRow
from dragoman.model.base import JsonObject
from dragoman.model.timestamps import format_timestamp

__all__ = ("ACTION", "confirmation_for", "delegation_text")

ACTION: Final = "xpr_a2a_delegate_job"

_SHOWN: Final = 100
"""Characters of the instructions that whoever confirms is shown."""

_UNIT: Final = 10_000
_MOST_SECONDS: Final = 253_402_300_799
"""The last second that a calendar of four digits has; anybody may write a deadline."""


def delegation_text(job: JobRow, instructions: str) -> str:
    """Write what the other agent is told, as Markdown.

    What stands on the chain was written by others: it has one line each, so that it cannot be taken
    for a heading, or for the instructions.
    """
    lines = [
        f"## Delegated job: {_line(job.title) or 'untitled'}",
        "",
        f"- **Job ID:** {job.id}",
        f"- **Description:** {_line(job.description) or 'none'}",
        f"- **Deliverables:** {_deliverables(job.deliverables) or 'none'}",
        f"- **Amount:** {_amount(job)}",
        f"- **Deadline:** {_deadline(job.deadline)}",
        "",
        "## Instructions",
        "",
        instructions,
    ]
    return "\n".join(lines)


def confirmation_for(account: str, job_id: int, instructions: str) -> JsonObject:
    """Return what is answered in place of delegating, until somebody has confirmed it."""
    return {
        "needs_confirmation": True,
        "action": ACTION,
        "details": {
            "target_agent": account,
            "job_id": job_id,
            "instructions": instructions[:_SHOWN] + "...",
        },
        "message": (
            f"Delegating job #{job_id} to '{account}' needs confirmation: "
            "nothing was sent. Call again with confirmed: true"
        ),
    }


def _line(text: str) -> str:
    return " ".join(text.split())


def _deliverables(text: str) -> str:
    try:
        return ", ".join(_line(one) for one in msgspec.json.decode(text, type=list[str]))
    except (msgspec.DecodeError, RecursionError):
        return _line(text)


def _amount(job: JobRow) -> str:
    # A symbol may come with its precision, as in 4,XPR.
    symbol = _line(job.symbol).rpartition(",")[2] or "XPR"
    return f"{job.amount // _UNIT}.{job.amount % _UNIT:04d} {symbol}"


def _deadline(seconds: int) -> str:
    if not 0 < seconds <= _MOST_SECONDS:
        return "none"
    return format_timestamp(seconds * 1000)
