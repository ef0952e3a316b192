"""The port of the store for webhooks, and the values that pass through it.

There is no queue of notifications: the log of a task is the outbox of its webhooks. A webhook has
a *cursor* into the log of its task, the number of the last event that was dealt with. Whatever
comes after it is still to be looked at and, if the webhook wants such events, to be sent. So a
notification is durable with the event that causes it, in the same commit, and costs no row.

A webhook is *pending* while there may be something after its cursor. The commit of an event makes
it so; ``advance`` ends it in a transaction that sees the end of the log, so none is overlooked.

Whoever sends *takes* webhooks that are due, for a limited time; nobody else gets them meanwhile.
If the taker dies, they are due again when that time is over, or when the store is next opened by
one who has it alone. Everything done with a webhook that was taken is refused when somebody else
has taken, replaced or removed it since.

What could not be delivered becomes a *dead letter*: the number of the event and what went wrong.
The event stays in the log, from where it can be sent again if an operator says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.stores.scope import Scope

__all__ = (
    "DeadLetter",
    "EventKind",
    "LetterKey",
    "NewWebhook",
    "PendingOverview",
    "Webhook",
    "WebhookCounts",
    "WebhookKey",
    "WebhookPosition",
    "WebhookStore",
)


EventKind: TypeAlias = Literal["states", "artifacts", "messages"]
"""What webhooks can be told of."""


class WebhookKey(Struct, frozen=True, gc=False):
    """What names a webhook: the task, by the server's id, and the id of the config."""

    task_id: str
    id: str


class WebhookPosition(Struct, frozen=True, gc=False):
    """A place in the list of a task's webhooks: oldest first, ties by id."""

    created_ms: int
    id: str


class LetterKey(Struct, frozen=True, gc=False):
    """What names a dead letter: its webhook and the number of the event."""

    task_id: str
    webhook_id: str
    seq: int


class NewWebhook(Struct, frozen=True, kw_only=True):
    """A webhook as it is registered.

    Attributes:
        config: as the client gave it, secrets and all; its id is set. Its task id is what the
            client calls the task.
        dialect: the name of the form it was registered in, and will be told in.
        host: whom a delivery goes to, as limits per host count them.
        wants: what to tell of beside the end of the task: new ``states``, ``artifacts``, and
            ``messages`` that come with a status that is no new state.
    """

    config: TaskPushNotificationConfig
    dialect: str
    host: str
    created_ms: int
    wants: tuple[EventKind, ...] = ("states",)


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook as the store has it.

    Attributes:
        new: as it was registered.
        cursor: the last event that was dealt with.
        state: of the task after that event; None before the first.
        attempts: how often the next notification was tried in vain.
        finding: what came of the last of these attempts, "" for none.
        due_ms: not to be taken before this time.
        claim: the number under which it was last taken.
        claimed_until_ms: until when it is taken, 0 if it is not.
        pending_since_ms: since when there is something to look at, 0 if there is nothing.
        letter_seq: the first of its dead letters that is to be sent again, 0 if none is.
    """

    key: WebhookKey
    scope: Scope
    new: NewWebhook
    cursor: int
    state: TaskState | None
    attempts: int = 0
    finding: str = ""
    due_ms: int = 0
    claim: int = 0
    claimed_until_ms: int = 0
    pending_since_ms: int = 0
    letter_seq: int = 0

    @property
    def is_pending(self) -> bool:
        """Tell whether there may be something to send."""
        return self.pending_since_ms > 0

    @property
    def position(self) -> WebhookPosition:
        """Where it stands among the webhooks of its task."""
        return WebhookPosition(self.new.created_ms, self.key.id)


class DeadLetter(Struct, frozen=True, kw_only=True, gc=False):
    """A notification that was given up.

    Attributes:
        attempts: how often it was tried, in its last round.
        finding: what came of the last attempt.
        at_ms: when it was given up.
        is_queued: it is to be sent again.
    """

    key: LetterKey
    host: str
    attempts: int
    finding: str
    at_ms: int
    is_queued: bool = False


class WebhookCounts(Struct, frozen=True, gc=False):
    """How many webhooks there are: of a task, and of an owner with tasks that have not ended.

    A webhook of a task that has ended counts for its owner until all was sent.
    """

    of_task: int
    of_owner: int


class PendingOverview(Struct, frozen=True, kw_only=True, gc=False):
    """How matters stand altogether.

    Attributes:
        webhooks: how many there are.
        pending: how many of them have something to send.
        oldest_ms: since when the one that waits longest does so, 0 if none waits.
        dead_letters: how many there are.
    """

    webhooks: int
    pending: int
    oldest_ms: int
    dead_letters: int


class WebhookStore(Protocol):
    """The webhooks of all tasks.

    Promised: every method is one transaction, durable on return. What is said of a task's events
    holds for those whose write was reported as done. All methods raise StoreUnavailableError when
    the engine below fails; then nothing was changed.

    All methods are called on one event loop.
    """

    def watch(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called, on the event loop, whenever webhooks have become pending here.

        Only commits of this process are noticed, and several may share a call.
        """
        ...

    async def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register a webhook, or replace the one of the same id.

        A new one is told of events that are committed later. One that replaces another goes on
        where that one stood, at once, with no failures to its name; one that is equal in all that
        matters changes nothing.

        Raises ConflictError when there is no such task.
        """
        ...

    async def get(self, key: WebhookKey) -> Webhook | None:
        """Return a webhook, None if there is none such."""
        ...

    async def of_task(
        self, task_id: str, *, after: WebhookPosition | None, limit: int
    ) -> tuple[Webhook, ...]:
        """Return webhooks of a task after a place, oldest first."""
        ...

    async def remove(self, key: WebhookKey) -> bool:
        """Remove a webhook with its dead letters; tell whether there was one."""
        ...

    async def count(self, scope: Scope, task_id: str) -> WebhookCounts:
        """Count the webhooks of a task and of an owner."""
        ...

    # --- sending --------------------------------------------------------------------------------

    async def take_due(
        self, *, now_ms: int, until_ms: int, limit: int, except_hosts: Collection[str]
    ) -> tuple[Webhook, ...]:
        """Take pending webhooks that are due and not taken, the longest due first.

        Args:
            until_ms: how long they are taken for.
            except_hosts: whose webhooks to leave alone.
        """
        ...

    async def advance(
        self, taken: Webhook, *, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook | None:
        """Note that all up to event ``seq`` was dealt with; return the webhook as it is then.

        If that is its ``letter_seq``, a dead letter was delivered; it is dropped, and the cursor
        stays. Attempts count from zero again. While there is something left the webhook stays
        taken, until ``until_ms``; else it is not pending any more, and not taken.

        Returns None, and changes nothing, if the webhook is not the taker's any more.
        """
        ...

    async def bury(
        self,
        taken: Webhook,
        *,
        seq: int,
        state: TaskState | None,
        attempts: int,
        finding: str,
        now_ms: int,
        until_ms: int,
    ) -> Webhook | None:
        """Note a dead letter of event ``seq``, and go on as ``advance`` does.

        If that is its ``letter_seq``, a dead letter was sent again in vain; it stays one.
        """
        ...

    async def postpone(self, taken: Webhook, *, attempts: int, due_ms: int, finding: str) -> bool:
        """Give a webhook back, to be taken again at ``due_ms``.

        Returns False, and changes nothing, if the webhook is not the taker's any more.
        """
        ...

    # --- for operators --------------------------------------------------------------------------

    async def every(self, *, after: WebhookKey | None, limit: int) -> tuple[Webhook, ...]:
        """Return webhooks of any owner after a key, in the order of their keys."""
        ...

    async def dead_letters(self, *, after: LetterKey | None, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters of any owner after a key, in the order of their keys."""
        ...

    async def retry(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again, at once and before anything newer; return how many.

        Several of one webhook are sent in the order of their events.
        """
        ...

    async def drop(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; return how many there were."""
        ...

    async def overview(self) -> PendingOverview:
        """Count what there is."""
        ...
