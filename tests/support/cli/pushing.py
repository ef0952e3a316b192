"""A store with webhooks in every condition, for the commands of operators."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.stores.sqlite.maintenance import changing
from dragoman.stores.sqlite.webhooks import WebhookRows
from dragoman.stores.webhooks import LetterKey, NewWebhook, Webhook
from tests.support.stores.sqlite.populated import populate, value

__all__ = ("NOW_MS", "SECRETS", "Pushing", "new_webhook")

NOW_MS: Final = 1_800_000_000_000
_LATER_MS: Final = NOW_MS + 60_000

SECRETS: Final = ("path-secret", "tok-secret", "cred-secret")
"""What no command may show."""


def new_webhook(webhook_id: str, host: str) -> NewWebhook:
    """Return a webhook that has secrets wherever one can be."""
    config = TaskPushNotificationConfig(
        id=webhook_id,
        url=f"https://{host}/path-secret",
        token="tok-secret",  # noqa: S106 - of a test
        authentication=AuthenticationInfo(scheme="Bearer", credentials="cred-secret"),
    )
    return NewWebhook(config=config, dialect="1.0", host=host, created_ms=NOW_MS)


class Pushing:
    """Does to a store what a sender would do."""

    def __init__(self, path: Path) -> None:
        populate(path)
        # Those of a test are its own.
        with changing(path) as connection:
            connection.execute("DELETE FROM webhooks")
        self.path = path
        self.task_id = str(value(path, "SELECT id FROM tasks ORDER BY id LIMIT 1"))

    def register(self, webhook_id: str, host: str = "hooks.example") -> Webhook:
        """Register a webhook as if its task had just begun, so that it has all to tell."""
        with changing(self.path) as connection:
            webhook = WebhookRows(connection).put(self.task_id, new_webhook(webhook_id, host))
            connection.execute(
                "UPDATE webhooks SET cursor = 0, pending_since_ms = ?, due_ms = ? "
                "WHERE task_id = ? AND id = ?",
                (NOW_MS, NOW_MS, self.task_id, webhook_id),
            )
        return webhook

    def take(self, webhook_id: str) -> Webhook:
        """Take what is due, which must be this webhook among others."""
        with changing(self.path) as connection:
            rows = WebhookRows(connection)
            rows.release_all()
            taken = rows.take_due(_LATER_MS, _LATER_MS + 1, 10, ())
        return next(each for each in taken if each.key.id == webhook_id)

    def deliver(self, webhook_id: str, seq: int) -> None:
        """Note that an event was delivered."""
        taken = self.take(webhook_id)
        with changing(self.path) as connection:
            WebhookRows(connection).advance(taken, seq, TaskState.WORKING, NOW_MS, 0)

    def fail(self, webhook_id: str, finding: str = "HTTP status 503") -> None:
        """Note an attempt in vain."""
        taken = self.take(webhook_id)
        with changing(self.path) as connection:
            WebhookRows(connection).postpone(taken, taken.attempts + 1, NOW_MS + 5000, finding)

    def bury(self, webhook_id: str, seq: int, finding: str = "HTTP status 410") -> LetterKey:
        """Give a notification up."""
        taken = self.take(webhook_id)
        with changing(self.path) as connection:
            WebhookRows(connection).bury(taken, seq, TaskState.WORKING, 4, finding, NOW_MS, 0)
        return LetterKey(self.task_id, webhook_id, seq)

    def letters(self) -> dict[int, bool]:
        """Return the events that were given up, and whether each is to be sent again."""
        with changing(self.path) as connection:
            found = WebhookRows(connection).dead_letters(None, 100)
        return {each.key.seq: each.is_queued for each in found}

    def is_pending(self, webhook_id: str) -> bool:
        """Tell whether a webhook has something to send."""
        with changing(self.path) as connection:
            found = WebhookRows(connection).every(None, 100)
        return next(each.is_pending for each in found if each.key.id == webhook_id)
