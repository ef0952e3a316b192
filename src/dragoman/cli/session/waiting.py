"""Whether a command waits for the task, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dragoman.cli import errors
from dragoman.cli.options.options import ASYNC, STREAM, TIMEOUT, WAIT
from dragoman.cli.options.settings import Settings
from dragoman.errors import UsageError

__all__ = ("waits", "within_budget")


def waits(settings: Settings, *, by_default: bool) -> bool:
    """Tell whether to wait; of what is said, the stronger source counts.

    Raises:
        UsageError: the command line says both.
    """
    for option in (WAIT, STREAM):
        if settings.is_given(option) and settings.is_given(ASYNC):
            raise UsageError(f"--{option.name} and --{ASYNC.name} exclude each other")
    wait, returns_at_once = settings[WAIT], settings[ASYNC]
    if wait is None:
        return by_default and not returns_at_once
    if returns_at_once and settings.source(ASYNC).level < settings.source(WAIT).level:
        return False
    return wait


@asynccontextmanager
async def within_budget(settings: Settings, *, is_live: bool) -> AsyncGenerator[None]:
    """Give up what is done inside when the time is over.

    Args:
        is_live: events are shown as they come; then only a time that somebody has set counts.

    Raises:
        CliError: the time is over.
    """
    seconds = settings[TIMEOUT]
    is_endless = not seconds or (is_live and not settings.is_set(TIMEOUT))
    try:
        async with asyncio.timeout(None if is_endless else seconds):
            yield
    except TimeoutError:
        failure = errors.Failure(errors.TIMEOUT, f"gave up after {errors.in_words(seconds)}")
        raise errors.CliError(failure) from None
