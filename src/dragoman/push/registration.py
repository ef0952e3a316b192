"""What a webhook must be to be registered: one that may be called, with what can be sent to it.

The rules for addresses hold again for every connection. Here they are told to whoever registers.

And somebody at its address must want to be told. Who registers an address need not be the one who
listens there: without a question, anybody could have anybody called. So the agent asks, and calls
nobody who does not answer. This *challenge* is that of the 0.1 reference (0.x reference, 2.7),
which receivers of ours and others answer: ``GET <url>?validationToken=<random>``, and the answer is
that text alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from dragoman.egress import DestinationRefusedError, Egress, NoAnswerError, is_sendable
from dragoman.egress.networks import INNER_KINDS
from dragoman.errors import FieldViolation, InvalidParamsError, UsageError
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.push.headers import credential_headers, is_same_text
from dragoman.push.hmac_signing import is_hmac, read_secret

__all__ = (
    "VALIDATION",
    "ask_for_consent",
    "challenge_url",
    "check_registration",
)


_logger = logging.getLogger(__name__)


_MOST_SECRET_CHARACTERS: Final = 4096
"""Servers take headers of about 8 KiB, and a token is sent under two names."""

_ALLOW_HOSTS: Final = " (the agent can be told to call inner hosts: --push-allow-hosts)"
_REMEDIES: Final[Mapping[str, str]] = {
    "scheme": " (the agent can be told to call http, too: --push-allow-http)",
    "port": " (the agent can be told to call others: --push-ports)",
    **dict.fromkeys(INNER_KINDS, _ALLOW_HOSTS),
}
"""By the rule that is broken. Who tries things out on one machine needs just these."""

_NOT_FOUND: Final = f"its host is not found, or not where it may be called{_ALLOW_HOSTS}"
"""The same for a host that is inside and for one that is nowhere: nobody outside learns by it which
names there are inside."""


VALIDATION: Final = "validationToken"
"""The name of the question in the query."""


_TOKEN_BYTES: Final = 32
_HEADERS: Final = {"Accept": "text/plain"}

_FINDING: Final = f"the webhook must answer GET with ?{VALIDATION}= by that text alone, and has not"
"""The same for all that can go wrong: what an address answers is nobody's business who does not
own it."""


async def check_registration(config: TaskPushNotificationConfig, egress: Egress) -> None:
    """Check a webhook before it is registered; nothing is sent to it.

    Raises:
        InvalidParamsError: it cannot be called; the violations name the fields.
    """
    violations = [*_secret_violations(config)]
    finding = await _finding_of_url(config.url, egress)
    if finding:
        violations.append(FieldViolation("url", finding))
    if violations:
        told = "; ".join(f"{each.field}: {each.description}" for each in violations)
        raise InvalidParamsError(
            f"Invalid push notification config: {told}", violations=tuple(violations)
        )


async def _finding_of_url(url: str, egress: Egress) -> str:
    try:
        await egress.check(url)
    except DestinationRefusedError as refused:
        _logger.info("a webhook is not registered: %s", refused)
        if refused.is_of_address:
            return _NOT_FOUND
        return f"{refused.finding}{_REMEDIES.get(refused.rule, '')}"
    except NoAnswerError as problem:
        _logger.info("a webhook is not registered: %s", problem)
        return _NOT_FOUND
    return ""


def _secret_violations(config: TaskPushNotificationConfig) -> list[FieldViolation]:
    found: list[FieldViolation] = []
    if not _is_secret(config.token):
        found.append(FieldViolation("token", _must_be()))
    shown = config.authentication
    if shown is None:
        return found
    if is_hmac(shown):
        try:
            read_secret(shown.credentials)
        except UsageError as problem:
            found.append(FieldViolation("authentication.credentials", str(problem)))
    elif shown.credentials and not all(map(_is_secret, credential_headers(shown).values())):
        found.append(FieldViolation("authentication", _must_be()))
    return found


def _is_secret(text: str) -> bool:
    return len(text) <= _MOST_SECRET_CHARACTERS and is_sendable(text)


def _must_be() -> str:
    return f"must be one line of latin-1, with at most {_MOST_SECRET_CHARACTERS} characters"


# --- challenge ------------------------------------------------------------------------------------


async def ask_for_consent(url: str, egress: Egress) -> None:
    """Ask a webhook whether it wants to be told.

    R-T.str-7, R-13.2-5: nothing is posted blindly. No credentials are shown with the question: who
    has not answered yet is a stranger.

    Raises:
        InvalidParamsError: it has not said so.
    """
    token = token_urlsafe(_TOKEN_BYTES)
    try:
        answer = await egress.ask("GET", challenge_url(url, token), headers=_HEADERS)
    except (DestinationRefusedError, NoAnswerError) as problem:
        _logger.info("a webhook is not registered: %s", problem)
        raise _refusal() from problem
    said = answer.body.decode("latin-1").strip() if answer.is_whole else ""
    if answer.status != 200 or not is_same_text(said, token):
        host = urlsplit(url).hostname
        _logger.info("a webhook is not registered: %s does not echo (%d)", host, answer.status)
        raise _refusal()


def challenge_url(url: str, token: str) -> str:
    """Return the address of the question; a query that is there already stays."""
    parts = urlsplit(url)
    question = f"{VALIDATION}={token}"
    return urlunsplit(
        parts._replace(query=f"{parts.query}&{question}" if parts.query else question)
    )


def _refusal() -> InvalidParamsError:
    return InvalidParamsError(
        f"Invalid push notification config: url: {_FINDING}",
        violations=(FieldViolation("url", _FINDING),),
    )
