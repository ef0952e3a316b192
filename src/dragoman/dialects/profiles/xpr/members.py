"""The members by which the XPR network goes beyond A2A; all begin with ``xpr:``."""

from __future__ import annotations

from typing import Final

__all__ = ("CALLER", "CLAIMED", "JOB", "TARGET")

CALLER: Final = "xpr:callerAccount"
"""In params: who says to call. In the metadata that an agent sees: who has signed."""

CLAIMED: Final = "xpr:claimedAccount"
"""In the metadata that an agent sees: who an unsigned request says to come from. Nobody knows."""

JOB: Final = "xpr:jobId"
"""In metadata: the number of the job in escrow that a message is about."""

TARGET: Final = "xpr:targetAccount"
"""In params or metadata: the agent that a request is meant for."""
