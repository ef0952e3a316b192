"""Plays scenarios in a peer's environment, and holds what the peer saw."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import Any, Final

from tests.interop.environments import PEERS, environment
from tests.interop.reading import in_words_of_1_0
from tests.support.wire import Json

__all__ = ("Saw", "play")

_PLAY_SECONDS: Final = 120
"""All scenarios take a few seconds, and each is cut off on its own; this ends what slips by."""


class Saw:
    """What a peer saw in one run: ``saw("send")`` is what the scenario of that name printed.

    The words are those of 1.0, whatever the peer's are, see ``in_words_of_1_0``.

    Attributes:
        name: the peer and its binding, such as ``py_0_3 JSONRPC``.
    """

    def __init__(self, peer: str, binding: str, lines: str) -> None:
        self.name = f"{peer} {binding}"
        self._scenarios: dict[str, Json] = {}
        # Not splitlines: JSON may hold what that takes for the end of a line.
        for line in lines.split("\n"):
            # Frameworks print what they like in between.
            if line.startswith('{"scenario":'):
                told: Json = json.loads(line)
                self._scenarios[told["scenario"]] = told

    @property
    def is_old(self) -> bool:
        """Tell whether the peer speaks a version before 1.0."""
        return "_0_" in self.name

    def __call__(self, scenario: str) -> Any:
        told = self._scenarios[scenario]
        assert "saw" in told, f"the scenario broke in the peer:\n{told['trace']}"
        return in_words_of_1_0(told["saw"]) if self.is_old else told["saw"]


# The order of the tests is random: a fixture may be asked for the same run again.
@cache
def play(peer: str, url: str, binding: str, *scenarios: str, program: str | None = None) -> Saw:
    """Play scenarios (all, if none is named) in one process of the peer.

    Args:
        program: what to run in the peer's environment, if not its own driver.

    Raises:
        UnreachableError: the peer cannot be had here.
    """
    command, folder = environment(peer)
    suffix = ".mjs" if peer.startswith("js") else ".py"
    done = subprocess.run(
        [*command, str(PEERS / f"{program or peer}{suffix}"), url, binding, *scenarios],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_PLAY_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{peer} could not reach the agent:\n{done.stderr}"
    return Saw(peer, binding, done.stdout)
