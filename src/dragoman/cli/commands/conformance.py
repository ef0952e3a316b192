"""dragoman conformance: whether a live agent does what A2A demands.

A smoke run: its card, and each operation on every interface that the card declares, with what must
succeed and what must be refused. Nothing that it makes at the agent is left there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Final

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import (
    AUTH_FAILED,
    CREDENTIALS_MISSING,
    FAILURE,
    INTERRUPTED,
    TIMEOUT,
    UNREACHABLE,
    USAGE,
    CliError,
)
from dragoman.cli.options import values
from dragoman.cli.options.options import (
    A2A_VERSION,
    AGENT_CARD,
    DEBUG,
    LEGACY,
    STREAM,
    STRICT,
    TRANSPORT,
    Option,
)
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.authorities import asking
from dragoman.cli.session.card_check import findings_in
from dragoman.cli.session.card_source import CardDocument, certificate_for, fetch_card
from dragoman.cli.session.conformance_lines import NotSpokenError, Opener
from dragoman.cli.session.credentials import luggage_of
from dragoman.cli.session.logins import with_logins
from dragoman.cli.session.session import run_async
from dragoman.cli.session.target import FLOOR, certificate_of, target_of, tls_of
from dragoman.cli.session.wire_log import WireLog
from dragoman.cli.views.conformance import Report
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.catalog_reference import CatalogReference
from dragoman.client.errors import CardInvalidError
from dragoman.client.transports.http_pool import HttpPool
from dragoman.clock import SystemClock
from dragoman.conformance.answers import at
from dragoman.conformance.bench import Bench
from dragoman.conformance.cards import (
    Declared,
    card_findings,
    declared_in,
    no_card,
    no_interface,
    not_spoken,
)
from dragoman.conformance.checks import Finding
from dragoman.conformance.http_answers import json_of
from dragoman.conformance.runner import run_checks
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard, AgentInterface

__all__ = ("CONFORMANCE",)

_NOT_THE_AGENT: Final = frozenset(
    {USAGE, UNREACHABLE, TIMEOUT, CREDENTIALS_MISSING, AUTH_FAILED, INTERRUPTED}
)
"""Failures to get a card that say nothing about how the agent keeps to A2A."""

_MESSAGE: Final = Option[str](
    name="message",
    metavar="TEXT",
    default="Hello",
    is_configurable=False,
    help="what to send to the agent",
)
_LONG_MESSAGE: Final = Option[str | None](
    name="long-message",
    metavar="TEXT",
    default=None,
    shown="the same as --message",
    is_configurable=False,
    help="what to send where the agent should be at work for some seconds",
)
_CHECK_TIMEOUT: Final = Option[float](
    name="check-timeout",
    metavar="TIME",
    read=values.duration,
    default=30.0,
    shown="30s",
    is_configurable=False,
    help="how long one check may take",
)
_WEBHOOK_URL: Final = Option[str](
    name="webhook-url",
    metavar="URL",
    # RFC 2606: a name that leads nowhere.
    default="https://conformance.invalid/webhook",
    is_configurable=False,
    help="webhook to register for a moment, if the agent offers webhooks",
)
_EXIT_ZERO: Final = Option[bool](
    name="exit-zero",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="exit with 0 whatever the checks have found",
)


def _declare(parser: Parser) -> None:
    parser.add_stand_in("ref", AGENT_CARD)
    parser.add_options((_MESSAGE, _LONG_MESSAGE, _CHECK_TIMEOUT, _WEBHOOK_URL, _EXIT_ZERO))


def _run(invocation: Invocation) -> int:
    settings = invocation.settings
    target = target_of(settings, invocation.surroundings.folder)
    address = target.address
    if isinstance(address, AgentInterface):
        raise UsageError("conformance needs --agent-card: an --endpoint has no card")
    if not settings[_CHECK_TIMEOUT]:
        raise UsageError("--check-timeout must be more than 0: a check has to end")
    report = Report(invocation.output, is_live=settings[STREAM])
    run_async(invocation, lambda: _check(invocation, address, report))
    report.close()
    is_failure = any(finding.is_must_failure for finding in report.findings)
    return FAILURE if is_failure and not settings[_EXIT_ZERO] else 0


async def _check(
    invocation: Invocation, address: str | Path | CatalogReference, report: Report
) -> None:
    try:
        found = await fetch_card(invocation, address)
    except CliError as problem:
        # A file that is not there is the user's mistake, an address without a card the agent's.
        if problem.failure.code in _NOT_THE_AGENT or not isinstance(address, str):
            raise
        report.add(no_card(problem.failure.message))
        return
    flaws = findings_in(found.content)
    async with _opening(invocation, found) as opener:
        headers = await opener.card_headers() if found.url else None
        for finding in card_findings(flaws, headers):
            report.add(finding)
        if opener.card is not None:
            report.agent, report.version = opener.card.name, opener.card.version
        async with aclosing(_interfaces(invocation, found, opener)) as findings:
            async for finding in findings:
                report.add(finding)


@asynccontextmanager
async def _opening(invocation: Invocation, found: CardDocument) -> AsyncGenerator[Opener]:
    """Give what opens the interfaces of a card, with all that the user has to show."""
    settings, folder = invocation.settings, invocation.surroundings.folder
    tls = tls_of(settings, folder)
    log = WireLog(invocation.output, is_on=settings[DEBUG])
    card = _read(found)
    with log.library_lines():
        async with (
            log.http_client(tls, certificate_for(invocation, found.url)) as http,
            asking(settings, folder) as authority_http,
            aclosing(HttpPool(tls, http)) as pool,
            AsyncExitStack() as stack,
        ):
            luggage = luggage_of(settings, certificate_of(settings, folder))
            if card is not None:
                luggage = with_logins(invocation, luggage, found.url or card, authority_http)
            yield Opener(
                card=card,
                url=found.url,
                headers=luggage.headers,
                held=luggage.held or None,
                tls=tls,
                log=log,
                stack=stack,
                pool=pool,
                read_seconds=settings[_CHECK_TIMEOUT],
            )


def _read(found: CardDocument) -> AgentCard | None:
    try:
        return read_card(found.content, found.place).card
    except CardInvalidError:
        return None


async def _interfaces(
    invocation: Invocation, found: CardDocument, opener: Opener
) -> AsyncGenerator[Finding]:
    """Check the interfaces that are asked for, one after the other."""
    document, _ = json_of(found.content)
    declared = declared_in(document)
    # An agent of 1.0 is held to that; one that has only older versions, to those.
    newest = {each.version for each in declared} & {FLOOR}
    wanted = [each for each in declared if _is_wanted(each, invocation.settings, newest)]
    if not wanted:
        offered = ", ".join(f"{each.binding} {each.version}" for each in declared)
        yield no_interface(f"it declares {offered or 'none'}")
    for each in wanted:
        try:
            interface = await opener.open(each)
        except NotSpokenError as problem:
            yield not_spoken(each, str(problem))
            continue
        invocation.output.note(f"checking {each.binding} {each.version} {each.url}")
        settings = invocation.settings
        bench = Bench(
            interface,
            capabilities=at(document, "capabilities"),
            text=settings[_MESSAGE],
            long_text=settings[_LONG_MESSAGE] or settings[_MESSAGE],
            webhook=settings[_WEBHOOK_URL],
            new_id=SystemClock().new_id,
        )
        async with aclosing(run_checks(bench, limit_seconds=settings[_CHECK_TIMEOUT])) as findings:
            async for finding in findings:
                yield finding


def _is_wanted(declared: Declared, settings: Settings, newest: Collection[str]) -> bool:
    bindings, version = settings[TRANSPORT], settings[A2A_VERSION]
    if bindings and declared.binding not in bindings:
        return False
    if version is not None:
        return declared.version == version
    is_old_wanted = settings[LEGACY] or (not newest and not settings[STRICT])
    return is_old_wanted or declared.version == FLOOR


CONFORMANCE: Final = Body(run=_run, declare=_declare)
