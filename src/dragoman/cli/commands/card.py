"""dragoman card get: what an agent says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import CARD_INVALID, CliError, Failure
from dragoman.cli.options import values
from dragoman.cli.options.options import AGENT_CARD, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.card_check import advice_on, findings_in, is_of_1_0
from dragoman.cli.session.card_source import (
    JWKS,
    REQUIRE_SIGNATURE,
    CardDocument,
    fetch_card,
    signature_of,
)
from dragoman.cli.session.session import opened, run_async
from dragoman.cli.session.target import Target, target_of
from dragoman.cli.views.card import card_lines
from dragoman.cli.views.labels import Lines
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.catalog_reference import CatalogReference
from dragoman.client.discovery.offers import offers_of
from dragoman.client.errors import NoInterfaceError
from dragoman.dialects.negotiation import parse_version
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import UnsupportedOperationError, UsageError
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.operations import GetExtendedAgentCardRequest

__all__ = ("GET",)

_VALIDATE: Final = Option[bool](
    name="validate",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="check the card against the schema of its version",
)
_EXTENDED: Final = Option[bool](
    name="extended",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="show the card that the agent has for you",
)


def _declare(parser: Parser) -> None:
    parser.add_stand_in("ref", AGENT_CARD)
    parser.add_options((_VALIDATE, _EXTENDED, JWKS, REQUIRE_SIGNATURE))


def _run(invocation: Invocation) -> int:
    target = target_of(invocation.settings, invocation.surroundings.folder)
    address = target.address
    if isinstance(address, AgentInterface):
        raise UsageError("card get needs --agent-card: an --endpoint has no card")
    return run_async(invocation, lambda: _get(invocation, target, address))


async def _get(
    invocation: Invocation, target: Target, address: str | Path | CatalogReference
) -> None:
    found = await fetch_card(invocation, address)
    if invocation.settings[_VALIDATE]:
        _validate(found)
    card = read_card(found.content, found.place).card
    findings = await _findings(invocation, found, card)
    # A card of an older version is shown as the card of 1.0 that it means.
    document = found.content if is_of_1_0(found.content) else encode_card(card)
    if invocation.settings[_EXTENDED]:
        card = await _extended(invocation, target, card)
        document = encode_card(card)
    selected = _selected(card, found.url, target)
    invocation.output.show(
        document,
        lambda: card_lines(card, selected=selected, is_verbose=invocation.output.is_verbose).add(
            findings
        ),
    )


async def _findings(invocation: Invocation, found: CardDocument, card: AgentCard) -> Lines:
    """Return what was found out about a card; in JSON the card itself must stay as it is."""
    signature = await signature_of(invocation, found)
    if invocation.output.is_json:
        invocation.output.note(f"Signature: {signature}")
    lines = Lines().field("Signature", signature)
    if invocation.settings[_VALIDATE]:
        lines.field("Valid", "yes")
        for advice in advice_on(card):
            invocation.output.warn(advice)
    return lines


def _validate(found: CardDocument) -> None:
    findings = findings_in(found.content)
    if findings:
        message = f"{found.place} is no valid agent card: {'; '.join(findings)}"
        raise CliError(Failure(CARD_INVALID, message))


async def _extended(invocation: Invocation, target: Target, card: AgentCard) -> AgentCard:
    if not card.capabilities.extended_agent_card:
        raise UnsupportedOperationError("The card of this agent offers no extended card")
    async with opened(invocation, target) as session:
        request = GetExtendedAgentCardRequest()
        return await session.service.get_extended_agent_card(request, session.call)


def _selected(card: AgentCard, url: str, target: Target) -> str | None:
    """Return the interface that a command would use."""
    try:
        offers = offers_of(
            card,
            url,
            bindings=target.bindings,
            version=parse_version(target.version) if target.version else None,
        )
    except NoInterfaceError:
        return None
    tenant = f" [{offers[0].tenant}]" if offers[0].tenant else ""
    return f"{offers[0].binding} {offers[0].version} {offers[0].url}{tenant}"


GET: Final = Body(run=_run, declare=_declare)
