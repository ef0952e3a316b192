"""Outage: the one place that tells that the store is away, and that it answers again.

Requests and the rounds of the server say what they have met. However many they are, the log has a
line when it begins and one when it is over, which counts them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import StoreUnavailableError, UnavailableError

__all__ = ("CALM_SECONDS", "Outage")

_logger = logging.getLogger(__name__)

CALM_SECONDS: Final = 2.0
"""How long nothing may have failed before it is over: a store that fails now and then should not
have two lines for each time."""


class Outage:
    """Whether the store is away, as far as anybody has noticed.

    Args:
        is_down: tells whether the store knows by itself that it cannot write. Then it has told so,
            with the reason, and that is not repeated.
    """

    def __init__(self, clock: Clock, *, is_down: Callable[[], bool]) -> None:
        self._clock = clock
        self._is_down = is_down
        # When it was first and last met; None while there is none.
        self._began_ms: int | None = None
        self._met_ms = 0
        self._is_told = False
        self._refused = 0

    def refuse(self, problem: StoreUnavailableError | UnavailableError) -> None:
        """Count a request that is refused, if it is for want of the store."""
        if isinstance(problem, StoreUnavailableError) or self._is_down():
            self.meet(problem)
        if self._began_ms is not None:
            self._refused += 1
            _logger.debug("a request is refused: %s", problem)

    def meet(self, problem: Exception) -> None:
        """Note that the store did not answer."""
        self._met_ms = self._clock.uptime_ms()
        if self._began_ms is None:
            self._began_ms = self._met_ms
            self._is_told = not self._is_down()
            self._refused = 0
            if self._is_told:
                _logger.warning("the store is away: %s; requests that need it are refused", problem)

    def pass_by(self) -> None:
        """Note that the store answers; it is over if that has lasted for a moment."""
        now_ms = self._clock.uptime_ms()
        if self._began_ms is None or now_ms - self._met_ms < CALM_SECONDS * 1000:
            return
        if self._is_told or self._refused:
            _logger.warning(
                "the store answers again, after %.0f s; requests refused meanwhile: %d",
                (now_ms - self._began_ms) / 1000,
                self._refused,
            )
        self._began_ms = None
