"""Where other implementations come from."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.interop import playing
from tests.interop.environments import Environment, UnreachableError, environment
from tests.interop.playing import Saw
from tests.interop.servers import PeerServers


class Missing:
    """The peers that cannot be had here; they are not tried again for every test."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def __contains__(self, peer: object) -> bool:
        return peer in self._reasons

    def note(self, peer: str, error: UnreachableError) -> None:
        self._reasons[peer] = f"{peer} cannot be installed: {error}"

    def outcome(self, peer: str) -> BaseException:
        """Return what to raise in a test that needs the peer."""
        # Locally a missing network is nobody's fault; where changes are judged it must be seen.
        if os.environ.get("CI", "").lower() in ("1", "true"):
            return pytest.fail.Exception(self._reasons[peer], pytrace=False)
        return pytest.skip.Exception(self._reasons[peer])


@pytest.fixture(scope="session")
def missing() -> Missing:
    return Missing()


@pytest.fixture(scope="session")
def environment_of(missing: Missing) -> Callable[[str], Environment]:
    """Return ``environment``, made to skip the test where the peer cannot be had."""

    def environment_or_skip(peer: str) -> Environment:
        if peer not in missing:
            try:
                return environment(peer)
            except UnreachableError as error:
                missing.note(peer, error)
        raise missing.outcome(peer)

    return environment_or_skip


@pytest.fixture(scope="session")
def play(missing: Missing) -> Callable[..., Saw]:
    """Return ``playing.play``, made to skip the test where the peer cannot be had."""

    def play_or_skip(peer: str, *arguments: str, **options: str) -> Saw:
        if peer not in missing:
            try:
                return playing.play(peer, *arguments, **options)
            except UnreachableError as error:
                missing.note(peer, error)
        raise missing.outcome(peer)

    return play_or_skip


@pytest.fixture(scope="session")
def server_of(missing: Missing) -> Iterator[Callable[[str], str]]:
    """Return what gives the URL of a peer's server, or skips the test where it cannot be had."""
    with PeerServers() as servers:

        def url_or_skip(peer: str) -> str:
            if peer not in missing:
                try:
                    return servers.url(peer)
                except UnreachableError as error:
                    missing.note(peer, error)
            raise missing.outcome(peer)

        yield url_or_skip
