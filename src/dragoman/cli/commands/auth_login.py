"""dragoman auth login: get a token for an agent, and keep it for the commands to come."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx2
import msgspec

from dragoman.auth.outgoing.oauth2 import AuthorizationServer, ClientAuth, DevicePrompt
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.tokens import Token
from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import CliError, failure_of
from dragoman.cli.options import values
from dragoman.cli.options.options import CLIENT_SECRET, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.authorities import Authority, Wish, asking, find_authority
from dragoman.cli.session.card_source import fetch_card
from dragoman.cli.session.credentials import check_sources
from dragoman.cli.session.logins import FLOWS, Flow, Login, LoginFile, origins_of
from dragoman.cli.session.session import run_async
from dragoman.cli.session.target import Target, target_of
from dragoman.cli.views.auth import login_document, login_lines
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.offers import offers_of
from dragoman.clock import SystemClock
from dragoman.dialects.negotiation import parse_version
from dragoman.errors import DragomanError, UsageError
from dragoman.model.cards import AgentCard, AgentInterface

__all__ = ("LOGIN",)


def _flow(text: str) -> Flow:
    for flow in FLOWS:
        if text == flow:
            return flow
    raise ValueError(f"must be {' or '.join(FLOWS)}")


def _client_auth(text: str) -> ClientAuth:
    if text == "basic" or text == "post":
        return text
    raise ValueError("must be basic or post")


def _option(name: str, metavar: str, help_text: str) -> Option[str]:
    return Option[str](
        name=name, metavar=metavar, default="", is_configurable=False, help=help_text
    )


_SCHEME: Final = _option("scheme", "NAME", "security scheme of the card to sign in for")
_FLOW: Final = Option[Flow | None](
    name="flow",
    metavar="FLOW",
    read=_flow,
    default=None,
    shown="what the card has",
    choices=FLOWS,
    is_configurable=False,
    help="device-code, for a person; or client-credentials, for a program",
)
_CLIENT_ID: Final = _option("client-id", "ID", "your client, as the issuer knows it")
_SECRET_FILE: Final = _option(
    "client-secret-file", "FILE", "file that holds the secret of the client"
)
_CLIENT_AUTH: Final = Option[ClientAuth](
    name="client-auth",
    metavar="HOW",
    read=_client_auth,
    default="basic",
    choices=("basic", "post"),
    is_configurable=False,
    help="how the secret travels to the issuer: basic, in a header; or post, in the body",
)
_SCOPES: Final = Option[tuple[str, ...]](
    name="scope",
    metavar="SCOPE",
    split=str.split,
    default=(),
    shown="what the card asks for",
    is_configurable=False,
    help="what the token is to be good for; may be repeated",
)
_ISSUER: Final = _option("issuer", "URL", "who issues tokens; its endpoints are looked up")
_TOKEN_URL: Final = _option("token-url", "URL", "where tokens come from, if there is no issuer")
_DEVICE_URL: Final = _option(
    "device-authorization-url", "URL", "where the device flow begins, if there is no issuer"
)
_AUDIENCE: Final = _option("audience", "NAME", "whom the token is for, if the issuer wants that")
_KEEP_SECRET: Final = Option[bool](
    name="keep-client-secret",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="keep the secret of the client beside the token, in clear, to renew the token with",
)

_OPTIONS: Final[tuple[Option[object], ...]] = (
    _SCHEME,
    _FLOW,
    _CLIENT_ID,
    _SECRET_FILE,
    _CLIENT_AUTH,
    _SCOPES,
    _ISSUER,
    _TOKEN_URL,
    _DEVICE_URL,
    _AUDIENCE,
    _KEEP_SECRET,
)


def _declare(parser: Parser) -> None:
    parser.add_options(_OPTIONS)


def _run(invocation: Invocation) -> int:
    settings = invocation.settings
    if not settings[_CLIENT_ID]:
        raise UsageError("as which client? Name it with --client-id")
    # An agent may be its own issuer, and get the secret of the client.
    check_sources(settings, CLIENT_SECRET)
    secret = _secret_of(settings, invocation.surroundings.folder)
    if secret:
        invocation.output.hide(secret)
    target = target_of(settings, invocation.surroundings.folder)
    return run_async(invocation, lambda: _login(invocation, target, secret))


async def _login(invocation: Invocation, target: Target, secret: str) -> None:
    settings = invocation.settings
    file = LoginFile(invocation.surroundings.own_folder)
    async with file.locked():
        # What keeps a token from being kept is told before anybody signs in.
        file.read()
    agent, origin, card = await _agent_of(invocation, target)
    if agent != origin:
        invocation.output.warn(f"the token is for {origin}, where the card of {agent} leads")
    wish = Wish(
        scheme=settings[_SCHEME],
        flow=settings[_FLOW],
        issuer=settings[_ISSUER],
        token_url=settings[_TOKEN_URL],
        device_url=settings[_DEVICE_URL],
        scopes=settings[_SCOPES],
        has_secret=bool(secret),
    )
    async with asking(settings, invocation.surroundings.folder) as http:
        authority = await find_authority(card, wish, agent=agent, http=http)
        server = _server(settings, authority, secret, http)
        token = await _obtain(invocation, authority, server)
    login = Login(
        agent=agent,
        origin=origin,
        scheme=authority.scheme,
        flow=authority.flow,
        authority=authority.name,
        token_url=authority.endpoints.token_url,
        revocation_url=authority.endpoints.revocation_url,
        client_id=server.client_id,
        client_secret=secret if settings[_KEEP_SECRET] else "",
        client_auth=server.client_auth,
        scopes=authority.scopes,
        parameters=dict(server.parameters),
        token=token,
    )
    invocation.output.hide(*login.secrets())
    async with file.locked():
        file.put(login)
    invocation.output.show(
        msgspec.json.encode(login_document(login)), lambda: login_lines((login,))
    )
    invocation.output.note(f"kept in {file.path}")


async def _agent_of(invocation: Invocation, target: Target) -> tuple[str, str, AgentCard | None]:
    """Return the origin that the user has named, the one that the token is for, and the card."""
    address = target.address
    if isinstance(address, AgentInterface):
        (origin,) = origins_of(address)
        return origin, origin, None
    found = await fetch_card(invocation, address)
    card = read_card(found.content, found.place).card
    version = parse_version(target.version) if target.version else None
    try:
        offer = offers_of(card, found.url, bindings=target.bindings, version=version)[0]
    except DragomanError as problem:
        raise CliError(failure_of(problem)) from problem
    origin = origin_of(offer.url)
    return origin_of(found.url) if found.url else origin, origin, card


def _server(
    settings: Settings, authority: Authority, secret: str, http: httpx2.AsyncClient | None
) -> AuthorizationServer:
    if authority.flow == "client-credentials" and not secret:
        raise UsageError(
            "client-credentials needs the secret of the client: set A2ACLI_CLIENT_SECRET, or give "
            "--client-secret-file"
        )
    audience = settings[_AUDIENCE]
    return AuthorizationServer(
        token_url=authority.endpoints.token_url,
        device_url=authority.endpoints.device_url,
        client_id=settings[_CLIENT_ID],
        client_secret=secret,
        client_auth=settings[_CLIENT_AUTH],
        scopes=authority.scopes,
        parameters={"audience": audience} if audience else {},
        http=http,
        clock=SystemClock(),
    )


async def _obtain(
    invocation: Invocation, authority: Authority, server: AuthorizationServer
) -> Token:
    if authority.flow == "client-credentials":
        return await server.client_credentials()
    device = await server.ask_person()
    _show_prompt(invocation, device.prompt, authority)
    # A2ACLI_AUTH_005: nothing is read from standard input; the person acts elsewhere.
    return await server.wait_for_person(device)


def _show_prompt(invocation: Invocation, prompt: DevicePrompt, authority: Authority) -> None:
    lines = [f"Sign in at {prompt.url} with the code {prompt.user_code}"]
    if prompt.complete_url:
        lines.append(f"or open {prompt.complete_url}")
    lines.append(
        f"Waiting for {authority.name}; the code is good for {prompt.expires_in_seconds:g} seconds"
    )
    invocation.output.note(*lines)


def _secret_of(settings: Settings, folder: Path) -> str:
    """Return the secret of the client; "" for a client that has none."""
    named = settings[_SECRET_FILE]
    if not named:
        return settings[CLIENT_SECRET] or ""
    if settings.is_given(CLIENT_SECRET):
        raise UsageError("--client-secret and --client-secret-file exclude each other")
    try:
        return (folder / named).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"--client-secret-file {named} cannot be read: {problem}") from None


LOGIN: Final = Body(run=_run, declare=_declare)
