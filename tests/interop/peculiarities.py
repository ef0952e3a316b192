"""What servers do otherwise than A2A has it, or than the others do.

Each entry names the servers and the reason. A test that makes an exception for them asserts what
they do instead, so that it is noticed when they no longer do.
"""

from __future__ import annotations

from typing import Final

from tests.interop.lines import LINES, Line

__all__ = (
    "ANSWERS_MAKE_TASKS",
    "CANCELED_STREAMS_STAY_OPEN",
    "CANCELS_LATER",
    "CANCELS_NOTHING_THAT_HAS_ENDED",
    "CANCELS_WHAT_HAS_ENDED",
    "CHUNKS_COUNT_FOR_EACH_FOLLOWER",
    "CUTS_OFF_INSTEAD_OF_REFUSING",
    "FAILS_TO_REFUSE_STREAMS",
    "FOLLOWERS_SEE_NO_TASK",
    "HAS_PATHS_WITHOUT_LISTS",
    "HISTORY_ONLY_BY_NUMBER",
    "NOT_CANCELABLE_IS_UNSUPPORTED",
    "NO_DIRECT_ANSWERS",
    "NO_FILE_NAMES",
    "NO_LIST",
    "NO_NULL",
    "NO_PUSH",
    "PUSH_WITHOUT_LIST_AND_DELETE",
    "SENDS_ALWAYS_WAIT",
    "Peculiarity",
)


class Peculiarity:
    """A deviation; ``line in peculiarity`` tells whether a server has it."""

    def __init__(self, *names: str, reason: str) -> None:
        known = {str(line): line for line in LINES}
        self.lines = tuple(known[name] for name in names)
        self.reason = reason

    def __contains__(self, line: Line) -> bool:
        return line in self.lines


# --- what comes back ----------------------------------------------------------------------------

NO_FILE_NAMES: Final = Peculiarity(
    "js_0_3 HTTP+JSON",
    "js_0_3 GRPC",
    reason="Its ProtoJSON and protobuf of 0.3 have no place for the name of a file.",
)
NO_NULL: Final = Peculiarity(
    "js_0_3 GRPC",
    reason="It reads null within data as 0, and cannot write it: the answer is an internal error.",
)
NO_DIRECT_ANSWERS: Final = Peculiarity(
    "fasta2a JSONRPC", reason="Every message makes a task; there is no answer without one."
)
ANSWERS_MAKE_TASKS: Final = Peculiarity(
    "fasta2a JSONRPC",
    reason="The task that a message names is not looked at: an answer begins another task.",
)
HISTORY_ONLY_BY_NUMBER: Final = Peculiarity(
    "js_0_3 JSONRPC",
    "js_0_3 HTTP+JSON",
    reason="Who does not say how many messages of the history are wanted gets none.",
)
SENDS_ALWAYS_WAIT: Final = Peculiarity(
    "py_0_2 JSONRPC", reason="The handler does not look at configuration.blocking."
)

# --- following and canceling --------------------------------------------------------------------

FOLLOWERS_SEE_NO_TASK: Final = Peculiarity(
    "py_0_3 JSONRPC",
    "py_0_3 HTTP+JSON",
    "py_0_3 GRPC",
    "py_0_2 JSONRPC",
    reason="Who subscribes to a task is told what happens from then on, and not how it stands.",
)
CHUNKS_COUNT_FOR_EACH_FOLLOWER: Final = Peculiarity(
    "py_0_3 JSONRPC",
    "py_0_3 HTTP+JSON",
    "py_0_3 GRPC",
    "py_0_2 JSONRPC",
    reason="A chunk is appended to the stored task once for each stream that it is sent on.",
)
CANCELED_STREAMS_STAY_OPEN: Final = Peculiarity(
    "py_0_3 JSONRPC",
    "py_0_3 HTTP+JSON",
    "py_0_3 GRPC",
    "py_0_2 JSONRPC",
    reason="The end of a task that is canceled is told to the one who cancels; streams stay open.",
)
CANCELS_LATER: Final = Peculiarity(
    "fasta2a JSONRPC", reason="The answer to a cancellation shows the task as it was before."
)
CANCELS_WHAT_HAS_ENDED: Final = Peculiarity(
    "py_0_2 JSONRPC", reason="That a task has ended is not looked at: it is canceled all the same."
)
CANCELS_NOTHING_THAT_HAS_ENDED: Final = Peculiarity(
    "fasta2a JSONRPC",
    reason="A cancellation is left to a worker: what has ended stays as it is, without an error.",
)
NOT_CANCELABLE_IS_UNSUPPORTED: Final = Peculiarity(
    "js_0_3 GRPC", reason="What cannot be canceled has the status of what is not supported."
)

# --- refusals -----------------------------------------------------------------------------------

CUTS_OFF_INSTEAD_OF_REFUSING: Final = Peculiarity(
    "py_0_3 HTTP+JSON",
    reason="A stream is promised before the request is looked at; then it breaks off.",
)
FAILS_TO_REFUSE_STREAMS: Final = Peculiarity(
    "js_0_3 HTTP+JSON",
    reason="What is refused before a stream begins is an internal error, for want of a body.",
)

# --- what is not there --------------------------------------------------------------------------

NO_LIST: Final = Peculiarity("fasta2a JSONRPC", reason="Tasks cannot be listed.")
HAS_PATHS_WITHOUT_LISTS: Final = Peculiarity(
    "py_0_3 HTTP+JSON", reason="Behind the paths to list tasks and webhooks there is no code."
)
NO_PUSH: Final = Peculiarity("fasta2a JSONRPC", reason="There are no webhooks.")
PUSH_WITHOUT_LIST_AND_DELETE: Final = Peculiarity(
    "py_0_3 HTTP+JSON",
    "py_0_3 GRPC",
    reason="Webhooks can be created and read; to list and to delete them there is no code.",
)
