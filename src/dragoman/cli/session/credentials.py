"""What of the user's settings is shown to an agent, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import ApiKey, Bearer, Credentials, Custom
from dragoman.cli.errors import CREDENTIALS_MISSING, Failure, failure_of
from dragoman.cli.options.options import (
    AGENT_CARD,
    API_KEY,
    AUTH,
    BEARER,
    CARD_AUTH,
    CLIENT_KEY,
    ENDPOINT,
    INSECURE,
    SVC_PARAM,
    Option,
)
from dragoman.cli.options.settings import Level, Settings
from dragoman.errors import DragomanError, UsageError
from dragoman.model.cards import AgentCard

__all__ = (
    "Luggage",
    "card_failure",
    "check_sources",
    "hint_for",
    "luggage_of",
    "warnings_of",
)

_CREDENTIALS: Final[tuple[Option[object], ...]] = (BEARER, API_KEY, AUTH, SVC_PARAM, CLIENT_KEY)
_AUTHORIZATION: Final = "Authorization"
_LIKE_CREDENTIALS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Service parameters that are not sent to where a card is fetched from."""


class Luggage(Struct, frozen=True):
    """What goes along with requests.

    Attributes:
        headers: to the agent, the request for its card included.
        held: credentials, which the card decides the way of.
    """

    headers: dict[str, str]
    held: tuple[Credentials, ...]


def luggage_of(settings: Settings, certificate: ClientCertificate | None = None) -> Luggage:
    """Gather what goes along.

    Args:
        certificate: what is shown while a connection is made, if the user has one.
    """
    headers: dict[str, str] = {}
    private: dict[str, str] = {}
    for name, value in settings[SVC_PARAM]:
        place = private if name.lower() in _LIKE_CREDENTIALS else headers
        place[name] = f"{place[name]},{value}" if name in place else value
    token, whole = settings[BEARER], settings[AUTH]
    if whole is not None:
        private[_AUTHORIZATION] = whole
    if settings[CARD_AUTH]:
        headers |= private
        if token is not None:
            headers[_AUTHORIZATION] = f"Bearer {token}"
    held: list[Credentials] = [certificate] if certificate is not None else []
    if token is not None:
        held.append(Bearer(token=token))
    key = settings[API_KEY]
    if key is not None:
        held.append(ApiKey(key=key))
    if private:
        held.append(Custom(function=lambda _is_retry: private))
    return Luggage(headers, tuple(held))


def warnings_of(settings: Settings) -> Iterator[str]:
    """Yield what a user should know about how secrets are handled here."""
    has_secret = any(settings.is_set(option) for option in _CREDENTIALS)
    if settings[INSECURE]:
        yield (
            "CREDENTIALS ARE SENT WITHOUT VERIFYING WHO RECEIVES THEM (--insecure): "
            "anybody on the way can take them"
            if has_secret
            else "the certificate of the agent is not verified (--insecure)"
        )
    for path in settings.exposed_files():
        yield f"{path} holds a secret and other users can read it: chmod 600 {path}"
    agent = settings.source(ENDPOINT if settings.is_set(ENDPOINT) else AGENT_CARD)
    for option in _CREDENTIALS:
        source = settings.source(option)
        if _is_mixed(agent.level, source.level):
            yield f"the agent comes from {agent}, but --{option.name} from {source}"


def check_sources(settings: Settings, *more: Option[object]) -> None:
    """Refuse to send a secret of the user to an agent that a found file has named.

    Whoever works in a foreign folder may not know that there is a settings file in it.

    Args:
        more: secrets that are sent beside those of all commands.

    Raises:
        UsageError: that is what would happen.
    """
    agent = settings.source(ENDPOINT if settings.is_set(ENDPOINT) else AGENT_CARD)
    if agent.level is not Level.LOCAL or not settings.is_walked_up:
        return
    for option in (*_CREDENTIALS, *more):
        source = settings.source(option)
        if source.level is Level.GLOBAL:
            raise UsageError(
                f"--{option.name} from {source} is not sent to the agent that {agent} names; "
                "name the agent yourself, or keep the secret in a file for that agent"
            )


def hint_for(card: AgentCard | None) -> str:
    """Return how to give the credentials that a card asks for; None is one that is not public."""
    if card is None:
        return "the card is not public: add --card-auth, and --bearer (A2ACLI_BEARER)"
    schemes = card.security_schemes.values()
    is_key = [scheme.api_key_security_scheme is not None for scheme in schemes]
    issues_tokens = any(
        scheme.oauth2_security_scheme is not None
        or scheme.open_id_connect_security_scheme is not None
        for scheme in schemes
    )
    ways = {
        "--bearer (A2ACLI_BEARER)": not all(is_key) or not is_key,
        "--api-key (A2ACLI_API_KEY)": any(is_key) or not is_key,
        "auth login": issues_tokens,
    }
    return f"give credentials with {' or '.join(way for way, fits in ways.items() if fits)}"


def card_failure(problem: DragomanError, luggage: Luggage) -> Failure:
    """Class what goes wrong while a card is fetched."""
    failure = failure_of(problem, has_credentials=_AUTHORIZATION in luggage.headers)
    if failure.code == CREDENTIALS_MISSING:
        return replace(failure, hint=hint_for(None))
    return failure


def _is_mixed(agent: Level, secret: Level) -> bool:
    """Tell whether one comes from the folder and the other from the user's surroundings."""
    elsewhere = (Level.ENVIRONMENT, Level.GLOBAL)
    return (agent is Level.LOCAL and secret in elsewhere) or (
        secret is Level.LOCAL and agent in elsewhere
    )
