"""When to ask again, and after how long. Pure: whoever asks does the waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.client.errors import CutError, TimedOutError, UnreachableError
from dragoman.errors import RateLimitedError, UnavailableError
from dragoman.model.operations import Operation
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from dragoman.errors import DragomanError
    from dragoman.model.operations import Request

__all__ = ("NEVER", "RetryPolicy", "is_passing", "may_repeat")

_MOST_ASKED_SECONDS: Final = 120.0
"""The longest wait that an agent can ask for; who wants more is told as an error."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often and how patiently to ask again.

    Attributes:
        attempts: how often at most, the first time included; for a stream that was cut, how often
            in a row nothing at all comes.
        first_seconds: the first wait; each later one is twice as long.
        most_seconds: the longest.
    """

    attempts: int = 6
    first_seconds: float = 0.2
    most_seconds: float = 10.0

    def delay(self, failures: int, chance: float, asked_seconds: float | None = None) -> float:
        """Return how long to wait after so many failures.

        Args:
            chance: a random number from 0 to 1. Clients that were cut off together do not come
                back together: half of the wait is left to it.
            asked_seconds: the wait that the agent has asked for (R-3.3.2-15).
        """
        wait = min(self.first_seconds * 2 ** max(failures - 1, 0), self.most_seconds)
        wait *= 0.5 + chance / 2
        return max(wait, asked_seconds or 0.0)

    def gives_up(self, failures: int, problem: DragomanError | None = None) -> bool:
        """Tell whether to leave it at that, after so many failures."""
        asked = getattr(problem, "retry_after_seconds", None) or 0.0
        return failures >= self.attempts or asked > _MOST_ASKED_SECONDS


NEVER: Final = RetryPolicy(attempts=1)
"""Ask once."""

_READS: Final = frozenset(
    {
        Operation.GET_TASK,
        Operation.LIST_TASKS,
        Operation.SUBSCRIBE_TO_TASK,
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        Operation.GET_EXTENDED_AGENT_CARD,
    }
)
_REPEATABLE: Final = _READS | {
    # R-3.3.1-3: with the same messageId, by which an agent can know it for the same. One that does
    # not look may do the work twice; RetryPolicy(attempts=1) is for those.
    Operation.SEND_MESSAGE,
    Operation.SEND_STREAMING_MESSAGE,
    # Done twice they are done once.
    Operation.CANCEL_TASK,
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
}


def is_passing(problem: DragomanError) -> bool:
    """Tell whether a failure may be gone when one asks again."""
    return isinstance(
        problem, UnreachableError | CutError | TimedOutError | UnavailableError | RateLimitedError
    )


def may_repeat(operation: Operation, request: Request, problem: DragomanError) -> bool:
    """Tell whether asking again may help and does no harm."""
    match problem:
        case UnreachableError() | UnavailableError() | RateLimitedError():
            return True  # Nothing has been done.
        case TimedOutError():
            return operation in _READS
        case CutError():
            # A webhook with an id of its own replaces itself.
            is_named = isinstance(request, TaskPushNotificationConfig) and bool(request.id)
            return operation in _REPEATABLE or is_named
        case _:
            return False
