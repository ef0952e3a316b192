"""Which dead letters a command is about, and what they are called on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dragoman.cli.command import Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.errors import UsageError
from dragoman.stores.maintenance import Maintenance
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = (
    "HOST",
    "declare_choice",
    "letter_name",
    "meant_by",
    "read_choice",
    "webhook_name",
)

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
