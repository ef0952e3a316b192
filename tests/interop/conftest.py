"""Where other implementations come from."""

import os
from collections.abc import Callable

import pytest

from tests.interop import playing
from tests.interop.environments import UnreachableError
from tests.interop.playing import Saw


@pytest.fixture(scope="session")
def play() -> Callable[..., Saw]:
    """Return ``playing.play``, made to skip the test where the peer cannot be had."""
    missing: dict[str, str] = {}

    def play_or_skip(peer: str, *arguments: str, **options: str) -> Saw:
        if peer not in missing:
            try:
                return playing.play(peer, *arguments, **options)
            except UnreachableError as error:
                # Not to be tried again for every test.
                missing[peer] = f"{peer} cannot be installed: {error}"
        # Locally a missing network is nobody's fault; where changes are judged it must be seen.
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(missing[peer], pytrace=False)
        pytest.skip(missing[peer])

    return play_or_skip
