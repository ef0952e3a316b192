"""Webhooks: how notifications are signed, sent, checked and received."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.push.jwt_signing import sign_jwt
    from dragoman.push.receiving.notification import Notification
    from dragoman.push.receiving.receiver import Receiver

__all__ = (
    "Notification",
    "Receiver",
    "sign_jwt",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.push.jwt_signing": ("sign_jwt",),
            "dragoman.push.receiving.notification": ("Notification",),
            "dragoman.push.receiving.receiver": ("Receiver",),
        },
    )
