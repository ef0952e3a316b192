"""Rows of webhooks and dead letters, as every database has them, and the values they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.model.push import TaskPushNotificationConfig
from dragoman.stores.scope import Scope
from dragoman.stores.shared.states import NUMBERS, STATES
from dragoman.stores.webhooks import (
    DeadLetter,
    EventKind,
    LetterKey,
    NewWebhook,
    Webhook,
    WebhookKey,
)

if TYPE_CHECKING:
    from dragoman.model.tasks import TaskState

__all__ = ("letter_of", "registered_values", "state_number", "webhook_of")

_encode: Final = msgspec.json.Encoder().encode
_Wants = tuple[EventKind, ...]
_decode_config: Final = msgspec.json.Decoder(TaskPushNotificationConfig).decode


def registered_values(new: NewWebhook) -> tuple[str, str, str, int, bytes]:
    """Return dialect, host, wants, created_ms and config."""
    return new.dialect, new.host, ",".join(new.wants), new.created_ms, _encode(new.config)


def state_number(state: TaskState | None) -> int:
    """Return what stands for a state; 0 before the first."""
    return 0 if state is None else NUMBERS[state]


def webhook_of(row: Iterable[Any]) -> Webhook:
    """Read a row of ``select_webhooks``."""
    (
        task_id,
        webhook_id,
        tenant,
        owner,
        dialect,
        host,
        wants,
        created_ms,
        config,
        cursor,
        state,
        attempts,
        finding,
        due_ms,
        claim,
        claimed_until_ms,
        pending_since_ms,
        letter_seq,
    ) = row
    return Webhook(
        key=WebhookKey(task_id, webhook_id),
        scope=Scope(tenant, owner),
        new=NewWebhook(
            config=_decode_config(config),
            dialect=dialect,
            host=host,
            created_ms=created_ms,
            wants=msgspec.convert([kind for kind in wants.split(",") if kind], _Wants),
        ),
        cursor=cursor,
        state=STATES.get(state),
        attempts=attempts,
        finding=finding,
        due_ms=due_ms,
        claim=claim,
        claimed_until_ms=claimed_until_ms,
        pending_since_ms=pending_since_ms,
        letter_seq=letter_seq,
    )


def letter_of(row: Iterable[Any]) -> DeadLetter:
    """Read a row of ``select_letters``."""
    task_id, webhook_id, seq, host, attempts, finding, at_ms, is_queued = row
    return DeadLetter(
        key=LetterKey(task_id, webhook_id, seq),
        host=host,
        attempts=attempts,
        finding=finding,
        at_ms=at_ms,
        is_queued=bool(is_queued),
    )
