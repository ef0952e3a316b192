"""The names of the client tools extension, which more than one layer has to know.

What they mean is said in ``dragoman.extensions.agent_tools``.
"""

from __future__ import annotations

from typing import Final

__all__ = (
    "CLIENT_TOOLS",
    "FAILURE",
    "INPUT_REQUEST",
    "INPUT_TIMEOUT",
    "TOOLS",
    "TOOL_FAILED",
    "TOOL_RESULT",
    "TOOL_USE",
)

CLIENT_TOOLS: Final = "https://dragoman.dev/extensions/client-tools/v1"
"""The address of the extension, and the key of its entry in the metadata of messages."""

TOOLS: Final = "tools"
"""In that entry: the tools that the sender of a message can run."""

INPUT_REQUEST: Final = "inputRequest"
"""In that entry: what a question wants to know, beside its text."""

FAILURE: Final = "failure"
"""In that entry: why a task has failed, if that was for want of an answer."""

INPUT_TIMEOUT: Final = "input-timeout"
TOOL_FAILED: Final = "tool-execution-failed"

TOOL_USE: Final = "tool-use"
TOOL_RESULT: Final = "tool-result"
"""The ``kind`` in the data of a part: a tool that is to be run, and what came of one."""
