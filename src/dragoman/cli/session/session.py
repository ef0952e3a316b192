"""Session: the agent that the options name, ready to be asked; and the run of a command to it.

The only place of the command line that knows how a client is made.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import CREDENTIALS_MISSING, USAGE, CliError, Failure, failure_of
from dragoman.cli.options.files import is_open_to_others
from dragoman.cli.options.options import (
    A2A_VERSION,
    API_KEY,
    DEBUG,
    EXTENSION,
    LEGACY,
    POLL_INTERVAL,
    STREAM,
)
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.authorities import asking
from dragoman.cli.session.card_source import certificate_for, placed
from dragoman.cli.session.credentials import (
    Luggage,
    card_failure,
    check_sources,
    hint_for,
    luggage_of,
    warnings_of,
)
from dragoman.cli.session.following import Follower, within_budget
from dragoman.cli.session.logins import with_logins
from dragoman.cli.session.target import FLOOR, Target, certificate_of, target_of, tls_of
from dragoman.cli.session.wire_log import WireLog, tapped
from dragoman.client.connect import Address, connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.offers import BINDINGS
from dragoman.client.errors import NoInterfaceError
from dragoman.client.retry import RetryPolicy
from dragoman.client.service import RemoteService
from dragoman.clock import SystemClock
from dragoman.errors import DragomanError, VersionNotSupportedError
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.service.service import A2AService, Call

__all__ = (
    "Session",
    "agent_command",
    "failure_in",
    "opened",
    "run_async",
    "warn_of_secrets",
    "with_agent",
)

_POLICY: Final = RetryPolicy(attempts=3)
"""A person waits: what does not work for the third time is told."""


class Session(Struct, frozen=True):
    """An agent to ask.

    Attributes:
        card: what it says of itself; of an endpoint nothing is known, and everything is tried.
        interface: tells the interface that is used.
        has_credentials: something is shown to the agent, so it is that which it may refuse.
    """

    service: A2AService
    card: AgentCard
    call: Call
    follower: Follower
    interface: Callable[[], AgentInterface]
    has_credentials: bool


def agent_command(
    work: Callable[[Invocation, Session], Awaitable[None]],
    *,
    declare: Callable[[Parser], None] | None = None,
    is_live: bool = False,
) -> Body:
    """Return the body of a command that asks an agent.

    Args:
        is_live: with ``--stream`` it shows events as they come.
    """

    def run(invocation: Invocation) -> int:
        return with_agent(
            invocation,
            lambda session: work(invocation, session),
            is_live=is_live and invocation.settings[STREAM],
        )

    return Body(run=run, declare=declare)


def with_agent(
    invocation: Invocation, work: Callable[[Session], Awaitable[None]], *, is_live: bool = False
) -> int:
    """Find the agent and do some work with it, within the time there is; see ``run_async``."""

    async def run() -> None:
        target = target_of(invocation.settings, invocation.surroundings.folder)
        async with opened(invocation, target) as session:
            await work(session)

    return run_async(invocation, run, is_live=is_live)


def run_async(
    invocation: Invocation, work: Callable[[], Awaitable[None]], *, is_live: bool = False
) -> int:
    """Do some work with an agent within the time there is, and return the exit code.

    Raises:
        CliError: it could not be done, or not in time.
        UsageError: a secret would go to somebody whom the user has not named.
        KeyboardInterrupt: the user, or the machine, has ended it.
    """
    warn_of_secrets(invocation)

    async def run() -> None:
        if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
            # Told to end, it ends as if it were interrupted: with the ids told.
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, signal.raise_signal, signal.SIGINT)
        async with within_budget(invocation.settings, is_live=is_live):
            await work()

    asyncio.run(run())
    return 0


def warn_of_secrets(invocation: Invocation) -> None:
    """Tell what a user should know of how secrets are handled, before any is sent.

    Raises:
        UsageError: a secret would go to somebody whom the user has not named.
    """
    check_sources(invocation.settings)
    for warning in warnings_of(invocation.settings):
        invocation.output.warn(warning)
    shown = certificate_of(invocation.settings, invocation.surroundings.folder)
    if shown is not None and Path(shown.key).is_file() and is_open_to_others(Path(shown.key)):
        invocation.output.warn(f"other users can read {shown.key}: chmod 600 {shown.key}")


@asynccontextmanager
async def opened(invocation: Invocation, target: Target) -> AsyncGenerator[Session]:
    """Open a session with an agent.

    Raises:
        CliError: what is done in it, or opening it, fails.
    """
    certificate = certificate_of(invocation.settings, invocation.surroundings.folder)
    luggage = luggage_of(invocation.settings, certificate)
    session: Session | None = None
    try:
        address = await placed(invocation, target.address)
        async with asking(invocation.settings, invocation.surroundings.folder) as http:
            luggage = with_logins(invocation, luggage, address, http)
            async with _connected(invocation, target, address, luggage) as session:
                yield session
    except CliError:
        raise
    except NoInterfaceError as problem:
        raise CliError(_without_interface(problem, target.version)) from problem
    except DragomanError as problem:
        if session is None:
            raise CliError(card_failure(problem, luggage)) from problem
        raise CliError(failure_in(session, problem, invocation.settings)) from problem


def failure_in(session: Session, problem: DragomanError, settings: Settings) -> Failure:
    """Class what goes wrong in a session, with a hint for its agent."""
    binding = session.interface().protocol_binding
    failure = failure_of(problem, binding=binding, has_credentials=session.has_credentials)
    if failure.code == CREDENTIALS_MISSING:
        return replace(failure, hint=hint_for(session.card))
    if failure.code == USAGE and settings.is_set(API_KEY):
        # The card does not say how a key travels, so the user has to.
        return replace(failure, hint="send the key as a header with --svc-param NAME:KEY")
    return failure


@asynccontextmanager
async def _connected(
    invocation: Invocation, target: Target, address: Address, luggage: Luggage
) -> AsyncGenerator[Session]:
    settings = invocation.settings
    tls = tls_of(settings, invocation.surroundings.folder)
    log = WireLog(invocation.output, is_on=settings[DEBUG])
    with log.library_lines():
        async with (
            log.http_client(tls, certificate_for(invocation, address)) as http,
            connect(
                address,
                version=target.version,
                downgrade=target.downgrade,
                binding=target.bindings,
                headers=luggage.headers,
                auth=luggage.held or None,
                extensions=settings[EXTENSION],
                retry=_POLICY,
                poll_seconds=settings[POLL_INTERVAL],
                ca_file=tls.ca_file,
                insecure=tls.is_insecure,
                http=http,
                cards=CardCache(),
            ) as agent,
        ):
            remote = agent.service
            assert isinstance(remote, RemoteService)  # noqa: S101 - what connect gives
            service = tapped(remote, log) if settings[DEBUG] else remote
            chosen = remote.interface
            _announce(invocation, chosen)
            log.tell(
                "*",
                f"interface {chosen.protocol_binding} {chosen.protocol_version} {chosen.url}: the "
                "first of the card that fits --transport and --a2a-version",
            )
            follower = Follower(
                service,
                Call(),
                invocation.progress,
                streams=bool(agent.card.capabilities.streaming),
                interval=settings[POLL_INTERVAL],
                clock=SystemClock(),
            )
            yield Session(
                service,
                agent.card,
                Call(),
                follower,
                lambda: remote.interface,
                has_credentials=bool(luggage.held),
            )


def _without_interface(problem: NoInterfaceError, wanted: str | None) -> Failure:
    """Tell that a card offers nothing that may be spoken; and how to, if that is by its version."""
    offered = [name.rpartition(" ") for name in problem.offered]
    versions = [version for binding, _, version in offered if binding in BINDINGS]
    if not versions or (wanted or FLOOR) in versions:
        return failure_of(problem)
    refused = VersionNotSupportedError(wanted or FLOOR, tuple(dict.fromkeys(versions)))
    failure = failure_of(refused)
    if wanted != FLOOR:
        return failure
    hint = "leave out --strict or --a2a-version to speak to agents of older versions"
    return replace(failure, hint=hint)


def _announce(invocation: Invocation, chosen: AgentInterface) -> None:
    """Tell that a version before 1.0 is spoken, unless the user has asked for it.

    A2ACLI_VER_001: nothing is downgraded in silence.
    """
    settings, version = invocation.settings, chosen.protocol_version
    is_asked_for = settings[LEGACY] or settings[A2A_VERSION] is not None
    if version != FLOOR and not is_asked_for:
        invocation.output.note(f"speaking A2A {version}, as the card of the agent declares")
