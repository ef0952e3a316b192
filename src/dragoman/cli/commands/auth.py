"""dragoman auth status and logout: which tokens are kept, and how to be rid of them."""

from __future__ import annotations

from typing import Final

import httpx2
import msgspec

from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.auth.outgoing.oauth2 import AuthorizationServer
from dragoman.cli.command import Body, Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import AGENT_CARD, CLIENT_SECRET, ENDPOINT, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.authorities import asking
from dragoman.cli.session.card_source import placed
from dragoman.cli.session.logins import Login, LoginFile, logins_for
from dragoman.cli.session.session import run_async
from dragoman.cli.session.target import target_of
from dragoman.cli.views.auth import login_document, login_lines
from dragoman.cli.views.labels import Lines
from dragoman.clock import SystemClock
from dragoman.errors import UsageError

__all__ = ("LOGOUT", "STATUS")

_ALL: Final = Option[bool](
    name="all",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="sign out of all agents",
)


# --- status ---------------------------------------------------------------------------------------


def _status(invocation: Invocation) -> int:
    return run_async(invocation, lambda: _show_status(invocation))


async def _show_status(invocation: Invocation) -> None:
    """Show what is kept: all of it, unless the command line names an agent."""
    settings = invocation.settings
    file = LoginFile(invocation.surroundings.own_folder)
    logins = file.read()
    if settings.is_given(AGENT_CARD) or settings.is_given(ENDPOINT):
        logins = await _of_agent(invocation, logins)
    document = {"path": str(file.path), "logins": [login_document(login) for login in logins]}
    invocation.output.show(msgspec.json.encode(document), lambda: login_lines(logins))
    if not logins:
        invocation.output.note("not signed in")


# --- logout ---------------------------------------------------------------------------------------


def _declare_logout(parser: Parser) -> None:
    parser.add_options((_ALL,))


def _logout(invocation: Invocation) -> int:
    return run_async(invocation, lambda: _sign_out(invocation))


async def _sign_out(invocation: Invocation) -> None:
    settings = invocation.settings
    if settings[_ALL] and settings.is_given(AGENT_CARD):
        raise UsageError("--all and --agent-card exclude each other")
    file = LoginFile(invocation.surroundings.own_folder)
    logins = file.read()
    if not settings[_ALL]:
        logins = await _of_agent(invocation, logins)
    if logins:
        # First what cannot fail: a token that nobody has any more can hardly be misused.
        async with file.locked():
            # As they are now; another process may have renewed them.
            logins = tuple(filter(None, (file.find(login.key) for login in logins)))
            file.remove(logins)
        await _revoke(invocation, logins)
    _show_signed_out(invocation, logins)


async def _revoke(invocation: Invocation, logins: tuple[Login, ...]) -> None:
    async with asking(invocation.settings, invocation.surroundings.folder) as http:
        for login in logins:
            invocation.output.hide(*login.secrets())
            if not login.revocation_url:
                invocation.output.note(
                    f"{login.authority} offers no way to revoke a token; it is good until it "
                    "expires"
                )
                continue
            secret = invocation.settings[CLIENT_SECRET] or login.client_secret
            try:
                await _server(login, secret, http).revoke(login.token)
            except CredentialsError as problem:
                invocation.output.warn(f"the token was not revoked: {problem}")


def _server(login: Login, secret: str, http: httpx2.AsyncClient | None) -> AuthorizationServer:
    return AuthorizationServer(
        token_url=login.token_url,
        revocation_url=login.revocation_url,
        client_id=login.client_id,
        client_secret=secret,
        client_auth=login.client_auth,
        http=http,
        clock=SystemClock(),
    )


def _show_signed_out(invocation: Invocation, logins: tuple[Login, ...]) -> None:
    agents = list(dict.fromkeys(login.agent for login in logins))
    lines = Lines()
    for agent in agents:
        lines.field("Signed out", agent)
    invocation.output.show(msgspec.json.encode({"signedOut": agents}), lambda: lines)
    if not agents:
        invocation.output.note("not signed in")


async def _of_agent(invocation: Invocation, logins: tuple[Login, ...]) -> tuple[Login, ...]:
    target = target_of(invocation.settings, invocation.surroundings.folder)
    return logins_for(await placed(invocation, target.address), logins)


STATUS: Final = Body(run=_status)
LOGOUT: Final = Body(run=_logout, declare=_declare_logout)
