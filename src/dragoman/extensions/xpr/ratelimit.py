"""SlidingWindow: how often one account may call in any minute."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

__all__ = ("SlidingWindow",)

_WINDOW_MS: Final = 60_000
_MOST: Final = 10_000
"""Accounts that are watched; the one that was counted longest ago is forgotten first."""


class SlidingWindow:
    """Counts calls by account. Calls that are refused are not counted.

    Kept in this process: several replicas let through as many times the limit.
    """

    def __init__(self, limit: int, *, most: int = _MOST) -> None:
        """Allow so many calls in any 60 seconds."""
        self.limit: Final = limit
        self._most = most
        # In the order of the latest calls.
        self._calls: OrderedDict[str, deque[int]] = OrderedDict()

    def wait_ms(self, account: str, now_ms: int) -> int:
        """Return how long an account has to wait for its next call, 0 if it may call now."""
        calls = self._calls.get(account)
        if calls is None:
            return 0
        while calls and calls[0] + _WINDOW_MS <= now_ms:
            calls.popleft()
        return calls[0] + _WINDOW_MS - now_ms if len(calls) >= self.limit else 0

    def count(self, account: str, now_ms: int) -> None:
        """Count a call."""
        calls = self._calls.setdefault(account, deque())
        calls.append(now_ms)
        self._calls.move_to_end(account)
        if len(self._calls) > self._most:
            self._calls.popitem(last=False)
