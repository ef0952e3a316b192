"""Webhooks: how notifications are signed, sent, checked and received."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dragoman.push.receiving.notification import Notification
    from dragoman.push.receiving.receiver import Receiver

__all__ = ("Notification", "Receiver")

_HOMES: Final = {
    "Notification": "dragoman.push.receiving.notification",
    "Receiver": "dragoman.push.receiving.receiver",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use: a server has webhooks without a receiver of its own."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value
