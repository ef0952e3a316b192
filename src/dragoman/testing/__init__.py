"""What tests of agents and of clients need: a pair in one process, its wire, a clock, a turn.

The names below are loaded when they are first used, so that the pytest plugin costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dragoman.testing.clock import FakeClock
    from dragoman.testing.pairing import Pairing, SyncPairing, pair, pair_sync
    from dragoman.testing.recorder import recording
    from dragoman.testing.serving import Served, served, served_sync
    from dragoman.testing.turn import RecordingTurn, user_message
    from dragoman.testing.wire import Wire

__all__ = (
    "FakeClock",
    "Pairing",
    "RecordingTurn",
    "Served",
    "SyncPairing",
    "Wire",
    "pair",
    "pair_sync",
    "recording",
    "served",
    "served_sync",
    "user_message",
)

_HOMES: Final = {
    "FakeClock": "clock",
    "Pairing": "pairing",
    "RecordingTurn": "turn",
    "Served": "serving",
    "SyncPairing": "pairing",
    "Wire": "wire",
    "pair": "pairing",
    "pair_sync": "pairing",
    "recording": "recorder",
    "served": "serving",
    "served_sync": "serving",
    "user_message": "turn",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what there is, loaded or not."""
    return sorted({*globals(), *__all__})
