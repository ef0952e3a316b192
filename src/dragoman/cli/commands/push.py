"""dragoman push list, retry and drop: the webhooks of a server and its dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.db import STORE, keeper_of
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.views.labels import Lines
from dragoman.clock import SystemClock
from dragoman.errors import UsageError
from dragoman.model.timestamps import format_timestamp
from dragoman.stores.maintenance import Maintenance
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = (
    "DROP",
    "HOST",
    "LIST",
    "RETRY",
    "declare_choice",
    "letter_name",
    "meant_by",
    "read_choice",
    "webhook_document",
    "webhook_name",
)


# --- dead letters ---------------------------------------------------------------------------------

HOST: Final = Option[str | None](
    name="host",
    metavar="HOST",
    default=None,
    shown="all hosts",
    is_configurable=False,
    help="only what goes to this host",
)
_ALL: Final = Option[bool](
    name="all",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="all dead letters",
)


def webhook_name(key: WebhookKey) -> str:
    """Return what a webhook is called: its task and its own id."""
    return f"{key.task_id}/{key.id}"


def letter_name(key: LetterKey) -> str:
    """Return what a dead letter is called: its webhook and the number of the event."""
    return f"{key.task_id}/{key.webhook_id}/{key.seq}"


def declare_choice(parser: Parser) -> None:
    """Let the user say which letters are meant."""
    parser.add_argument(
        "letters",
        metavar="ID",
        nargs="*",
        default=(),
        help="dead letter, as push list calls it: TASK/WEBHOOK/EVENT",
    )
    parser.add_options((HOST, _ALL))


def read_choice(invocation: Invocation) -> frozenset[LetterKey] | None:
    """Return the letters that are named, None if they are chosen otherwise.

    Raises:
        UsageError: it is not said which are meant, or said twice, or a name is none.
    """
    named: Sequence[str] = invocation.arguments.letters
    settings = invocation.settings
    if [bool(named), settings[HOST] is not None, settings[_ALL]].count(True) != 1:
        raise UsageError("say which dead letters are meant: ID..., --host HOST or --all")
    return frozenset(map(_key, named)) if named else None


def meant_by(
    choice: frozenset[LetterKey] | None, invocation: Invocation, keeper: Maintenance
) -> list[LetterKey]:
    """Return the letters that are meant, as they are in a store.

    Raises:
        UsageError: one that is named is not there.
    """
    host = invocation.settings[HOST]
    found: list[LetterKey] = []

    def look_at(letter: DeadLetter) -> None:
        if letter.key in choice if choice is not None else host in (None, letter.host):
            found.append(letter.key)

    keeper.read_webhooks(look_at, _pass_over)
    missing = (choice or frozenset()) - set(found)
    if missing:
        raise UsageError(f"there is no dead letter {letter_name(min(missing, key=letter_name))}")
    return found


def _pass_over(webhook: Webhook) -> None:
    del webhook


def _key(text: str) -> LetterKey:
    # The id of a webhook is its client's choice, and may have slashes of its own.
    task_id, _, rest = text.partition("/")
    webhook_id, _, number = rest.rpartition("/")
    if not (task_id and webhook_id and number.isascii() and number.isdecimal()):
        raise UsageError(f"{text!r} is no dead letter: it must be TASK/WEBHOOK/EVENT")
    return LetterKey(task_id, webhook_id, int(number))


Document = dict[str, object]

_PENDING: Final = Option[bool](
    name="pending",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="only webhooks that wait for something to be sent, or that have dead letters",
)
_LIMIT: Final = Option[int](
    name="limit",
    metavar="N",
    read=values.count,
    default=100,
    is_configurable=False,
    help="how many webhooks and how many dead letters to show; all are counted",
)

_AT_ONCE: Final = 500
"""Letters that are changed in one transaction, so that a server beside never waits for long."""

_LIST_EPILOG: Final = """\
examples:
  dragoman push list --pending
  dragoman push list --host hooks.example -o json
"""
_RETRY_EPILOG: Final = """\
A server that runs sends them within seconds, before anything newer for the same webhook.

examples:
  dragoman push retry 0198c1f0-5a1e-7cc3-9f6b-0c8a4f1d2e3b/main/4
  dragoman push retry --host hooks.example
  dragoman push retry --all --store sqlite:////var/lib/agent/tasks.db
"""
_DROP_EPILOG: Final = """\
What is dropped is never sent. The events themselves stay in the log of their task.

examples:
  dragoman push drop 0198c1f0-5a1e-7cc3-9f6b-0c8a4f1d2e3b/main/4
  dragoman push drop --host gone.example
"""

# --- list -----------------------------------------------------------------------------------------


def _declare_list(parser: Parser) -> None:
    parser.epilog = _LIST_EPILOG
    parser.add_options((STORE, HOST, _PENDING, _LIMIT))


def _list(invocation: Invocation) -> int:
    listing = _Listing(invocation)
    keeper_of(invocation).read_webhooks(listing.add_letter, listing.add)
    document = {
        "webhooks": listing.webhooks,
        "deadLetters": listing.letters,
        "total": {"webhooks": listing.found, "deadLetters": listing.dead},
    }
    invocation.output.show(
        msgspec.json.encode(document),
        lambda: _list_lines(listing.webhooks, listing.letters, listing.found, listing.dead),
    )
    return 0


class _Listing:
    """What is to be listed; no more than is to be shown is kept, but all is counted.

    Attributes:
        found, dead: how many webhooks and dead letters there are of those asked for.
    """

    def __init__(self, invocation: Invocation) -> None:
        settings = invocation.settings
        self._host = settings[HOST]
        self._limit = settings[_LIMIT]
        self._only_pending = settings[_PENDING]
        self._now_ms = SystemClock().now_ms()
        self._dead_of: Counter[WebhookKey] = Counter()
        self.webhooks: list[Document] = []
        self.letters: list[Document] = []
        self.found = 0
        self.dead = 0

    def add_letter(self, letter: DeadLetter) -> None:
        if self._host not in (None, letter.host):
            return
        self._dead_of[WebhookKey(letter.key.task_id, letter.key.webhook_id)] += 1
        self.dead += 1
        if self.dead <= self._limit:
            self.letters.append(_letter_document(letter))

    def add(self, webhook: Webhook) -> None:
        dead = self._dead_of[webhook.key]
        is_quiet = not webhook.is_pending and not dead
        if self._host not in (None, webhook.new.host) or (self._only_pending and is_quiet):
            return
        self.found += 1
        if self.found <= self._limit:
            self.webhooks.append({**webhook_document(webhook, self._now_ms), "deadLetters": dead})


def webhook_document(webhook: Webhook, now_ms: int) -> Document:
    """Return what may be told of a webhook."""
    waited_ms = now_ms - webhook.pending_since_ms if webhook.is_pending else 0
    return {
        "webhook": webhook_name(webhook.key),
        "taskId": webhook.key.task_id,
        "id": webhook.key.id,
        "host": webhook.new.host,
        "owner": webhook.scope.owner,
        "tenant": webhook.scope.tenant,
        "version": webhook.new.dialect,
        "created": format_timestamp(webhook.new.created_ms),
        "event": webhook.cursor,
        "pending": webhook.is_pending,
        "pendingSeconds": max(0, waited_ms) // 1000,
        "attempts": webhook.attempts,
        "finding": webhook.finding or None,
        "nextAttempt": format_timestamp(webhook.due_ms) if webhook.attempts else None,
    }


def _letter_document(letter: DeadLetter) -> Document:
    return {
        "letter": letter_name(letter.key),
        "taskId": letter.key.task_id,
        "id": letter.key.webhook_id,
        "event": letter.key.seq,
        "host": letter.host,
        "attempts": letter.attempts,
        "finding": letter.finding,
        "at": format_timestamp(letter.at_ms),
        "queued": letter.is_queued,
    }


def _list_lines(webhooks: list[Document], letters: list[Document], found: int, dead: int) -> Lines:
    lines = Lines()
    for each in webhooks:
        lines.field("Webhook", each["webhook"]).field("Host", each["host"])
        lines.field("Owner", each["owner"]).field("Told up to event", each["event"])
        if each["pending"]:
            lines.field("Pending", f"for {each['pendingSeconds']} s")
        if each["attempts"]:
            lines.field("Attempts", f"{each['attempts']} in vain: {each['finding']}")
            lines.field("Next attempt", each["nextAttempt"])
        if each["deadLetters"]:
            lines.field("Dead letters", each["deadLetters"])
        lines.gap()
    for each in letters:
        lines.field("Dead letter", each["letter"]).field("Host", each["host"])
        lines.field("Attempts", f"{each['attempts']} in vain: {each['finding']}")
        lines.field("Given up", each["at"])
        if each["queued"]:
            lines.field("Queued", "to be sent again")
        lines.gap()
    lines.field("Webhooks", _counted(found, len(webhooks)))
    return lines.field("All dead letters", _counted(dead, len(letters)))


def _counted(found: int, shown: int) -> str:
    return f"{found} ({shown} shown)" if shown < found else str(found)


# --- retry, drop ----------------------------------------------------------------------------------


def _declare_retry(parser: Parser) -> None:
    parser.epilog = _RETRY_EPILOG
    declare_choice(parser)
    parser.add_options((STORE,))


def _declare_drop(parser: Parser) -> None:
    parser.epilog = _DROP_EPILOG
    declare_choice(parser)
    parser.add_options((STORE,))


def _retry(invocation: Invocation) -> int:
    now_ms = SystemClock().now_ms()
    return _change(invocation, "Queued", lambda keeper, keys: keeper.retry_letters(keys, now_ms))


def _drop(invocation: Invocation) -> int:
    return _change(invocation, "Dropped", lambda keeper, keys: keeper.drop_letters(keys))


def _change(
    invocation: Invocation, label: str, change: Callable[[Maintenance, list[LetterKey]], int]
) -> int:
    choice, keeper = read_choice(invocation), keeper_of(invocation)
    keys = meant_by(choice, invocation, keeper)
    changed = 0
    for start in range(0, len(keys), _AT_ONCE):
        changed += change(keeper, keys[start : start + _AT_ONCE])
    invocation.output.show(
        msgspec.json.encode({label.lower(): changed}), lambda: Lines().field(label, changed)
    )
    return 0


LIST: Final = Body(run=_list, declare=_declare_list)
RETRY: Final = Body(run=_retry, declare=_declare_retry)
DROP: Final = Body(run=_drop, declare=_declare_drop)
