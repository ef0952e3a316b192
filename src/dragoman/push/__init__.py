"""Webhooks: how notifications are signed, checked and received."""

from dragoman.push.notification import Notification
from dragoman.push.receiver import Receiver

__all__ = ("Notification", "Receiver")
