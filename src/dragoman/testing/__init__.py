"""What tests of agents and of clients need: a pair in one process, its wire, a clock, a turn.

The names below are loaded when they are first used, so that the pytest plugin costs nothing.
"""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.testing.chain import FakeChain
    from dragoman.testing.clock import FakeClock
    from dragoman.testing.pairing import Pairing, SyncPairing, pair, pair_sync
    from dragoman.testing.recorder import recording
    from dragoman.testing.serving import Served, served, served_app, served_sync
    from dragoman.testing.turn import RecordingTurn, user_message
    from dragoman.testing.wire import Wire

__all__ = (
    "FakeChain",
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
    "served_app",
    "served_sync",
    "user_message",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.testing.chain": ("FakeChain",),
            "dragoman.testing.clock": ("FakeClock",),
            "dragoman.testing.pairing": ("Pairing", "SyncPairing", "pair", "pair_sync"),
            "dragoman.testing.recorder": ("recording",),
            "dragoman.testing.serving": ("Served", "served", "served_app", "served_sync"),
            "dragoman.testing.turn": ("RecordingTurn", "user_message"),
            "dragoman.testing.wire": ("Wire",),
        },
    )
