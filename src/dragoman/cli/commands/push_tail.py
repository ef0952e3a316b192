"""dragoman push tail: what becomes of notifications, as it happens.

The store is looked at again and again, briefly each time, and what has changed is told. What comes
and goes between two looks is not seen: a webhook that was told of three events is seen to be three
events further.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from typing import Final, NamedTuple

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.db import STORE, keeper_of
from dragoman.cli.commands.push import HOST, letter_name, webhook_name
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.views.labels import Lines
from dragoman.clock import SystemClock
from dragoman.model.timestamps import format_timestamp
from dragoman.stores.maintenance import Maintenance
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = ("TAIL", "Look", "Seen", "changes", "look")

_INTERVAL: Final = Option[float](
    name="interval",
    metavar="DURATION",
    read=values.duration,
    default=1.0,
    shown="1s",
    is_configurable=False,
    help="pause between two looks at the store",
)
_MAX_EVENTS: Final = Option[int](
    name="max-events",
    metavar="N",
    read=values.count,
    default=0,
    shown="no limit",
    is_configurable=False,
    help="stop after so many lines",
)

_EPILOG: Final = """\
It goes on until Ctrl-C. Beside a server it costs next to nothing.

examples:
  dragoman push tail
  dragoman push tail --host hooks.example -o json
"""


class Look(NamedTuple):
    """What is in the store at one moment."""

    webhooks: dict[WebhookKey, Webhook]
    letters: dict[LetterKey, DeadLetter]


class Seen(NamedTuple):
    """One change.

    Attributes:
        what: ``registered``, ``told``, ``retrying``, ``dead``, ``queued`` or ``removed``.
        name: of the webhook, or of the dead letter.
        event: the number of the event it is about.
    """

    what: str
    name: str
    host: str
    event: int
    attempts: int = 0
    finding: str = ""


def changes(before: Look, after: Look) -> Iterator[Seen]:
    """Tell what has changed between two looks; those to a webhook in the order they have come."""
    for key, letter in after.letters.items():
        known = before.letters.get(key)
        if known is None or (letter.at_ms != known.at_ms and known.is_queued):
            yield _of_letter("dead", letter)
        elif letter.is_queued and not known.is_queued:
            yield _of_letter("queued", letter)
    for key, webhook in after.webhooks.items():
        yield from _of_webhook(before.webhooks.get(key), webhook, after)
    for key, webhook in before.webhooks.items():
        if key not in after.webhooks:
            yield Seen("removed", webhook_name(key), webhook.new.host, webhook.cursor)


def _of_webhook(known: Webhook | None, webhook: Webhook, after: Look) -> Iterator[Seen]:
    name, host, cursor = webhook_name(webhook.key), webhook.new.host, webhook.cursor
    if known is None:
        yield Seen("registered", name, host, cursor)
        return
    letter = LetterKey(webhook.key.task_id, webhook.key.id, cursor)
    if cursor > known.cursor and letter not in after.letters:
        yield Seen("told", name, host, cursor)
    if webhook.attempts and (webhook.attempts, cursor) != (known.attempts, known.cursor):
        event = webhook.letter_seq or cursor + 1
        yield Seen("retrying", name, host, event, webhook.attempts, webhook.finding)


def _of_letter(what: str, letter: DeadLetter) -> Seen:
    key = letter.key
    return Seen(what, letter_name(key), letter.host, key.seq, letter.attempts, letter.finding)


def _declare(parser: Parser) -> None:
    parser.epilog = _EPILOG
    parser.add_options((STORE, HOST, _INTERVAL, _MAX_EVENTS))


def _run(invocation: Invocation) -> int:
    # It is a stream: JSON has one object per line.
    invocation.output.is_compact = True
    settings, keeper = invocation.settings, keeper_of(invocation)
    host, most = settings[HOST], settings[_MAX_EVENTS]
    shown = 0
    before = look(keeper, host)
    invocation.output.note(f"Webhooks: {len(before.webhooks)}")
    try:
        while True:
            sleep(settings[_INTERVAL])
            after = look(keeper, host)
            for seen in changes(before, after):
                _show(invocation, seen)
                shown += 1
                if shown == most:
                    return 0
            before = after
    except KeyboardInterrupt:
        # There is no other way to end it: that was no failure.
        return 0


def look(keeper: Maintenance, host: str | None) -> Look:
    """Look at a store; ``host`` is whose webhooks count, None for all."""
    seen = Look({}, {})

    def look_at_letter(letter: DeadLetter) -> None:
        if host in (None, letter.host):
            seen.letters[letter.key] = letter

    def look_at(webhook: Webhook) -> None:
        if host in (None, webhook.new.host):
            seen.webhooks[webhook.key] = webhook

    keeper.read_webhooks(look_at_letter, look_at)
    return seen


def _show(invocation: Invocation, seen: Seen) -> None:
    now = format_timestamp(SystemClock().now_ms())
    document = {
        "at": now,
        "what": seen.what,
        "name": seen.name,
        "host": seen.host,
        "event": seen.event,
        "attempts": seen.attempts,
        "finding": seen.finding or None,
    }
    reason = f" ({seen.attempts} in vain: {seen.finding})" if seen.finding else ""
    line = f"{now} {seen.name} at {seen.host}, event {seen.event}{reason}"
    invocation.output.show(
        msgspec.json.encode(document), lambda: Lines().field(seen.what.capitalize(), line)
    )


TAIL: Final = Body(run=_run, declare=_declare)
