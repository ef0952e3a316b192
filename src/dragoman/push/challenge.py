"""The challenge of a webhook: whether somebody at its address wants to be told.

Who registers an address need not be the one who listens there: without a question, anybody could
have anybody called. So the agent asks, and calls nobody who does not answer. The question is that
of the 0.1 reference (0.x reference, 2.7), which receivers of ours and others answer:
``GET <url>?validationToken=<random>``, and the answer is that text alone.
"""

from __future__ import annotations

import logging
from secrets import token_urlsafe
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from dragoman.egress import DestinationRefusedError, Egress, NoAnswerError
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.push.headers import is_same_text

__all__ = ("VALIDATION", "ask_for_consent", "challenge_url")

VALIDATION: Final = "validationToken"
"""The name of the question in the query."""

_logger = logging.getLogger(__name__)

_TOKEN_BYTES: Final = 32
_HEADERS: Final = {"Accept": "text/plain"}

_FINDING: Final = f"the webhook must answer GET with ?{VALIDATION}= by that text alone, and has not"
"""The same for all that can go wrong: what an address answers is nobody's business who does not
own it."""


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
