"""How an agent card looks as text."""

from __future__ import annotations

from typing import Final

from dragoman.cli.views.labels import Lines
from dragoman.model.cards import AgentCard, AgentInterface, AgentSkill
from dragoman.model.security import SecurityRequirement, SecurityScheme

__all__ = ("card_lines",)

_NONE: Final = "none"


def card_lines(card: AgentCard, *, selected: str | None, is_verbose: bool) -> Lines:
    """Show a card.

    Args:
        selected: the interface that would be used, None if there is none.
    """
    lines = Lines().field("Name", card.name).field("Version", card.version)
    if card.provider is not None:
        lines.field("Provider", f"{card.provider.organization} {card.provider.url}")
    if card.documentation_url:
        lines.field("Documentation", card.documentation_url)
    lines.block("Description", card.description)
    _add_capabilities(lines, card)
    for interface in card.supported_interfaces:
        lines.field("Interface", _interface(interface))
    lines.field("Selected interface", selected or _NONE)
    _add_security(lines, card)
    lines.field("Input modes", ", ".join(card.default_input_modes) or _NONE)
    lines.field("Output modes", ", ".join(card.default_output_modes) or _NONE)
    for skill in card.skills:
        _add_skill(lines, skill, is_verbose=is_verbose)
    return lines


def _add_capabilities(lines: Lines, card: AgentCard) -> None:
    offered = card.capabilities
    lines.field("Streaming", _yes_or_no(offered.streaming))
    lines.field("Push notifications", _yes_or_no(offered.push_notifications))
    lines.field("Extended card", _yes_or_no(offered.extended_agent_card))
    for extension in offered.extensions:
        demand = " (required)" if extension.required else ""
        lines.field("Extension", f"{extension.uri}{demand}")


def _add_security(lines: Lines, card: AgentCard) -> None:
    for name, scheme in card.security_schemes.items():
        lines.field("Security scheme", f"{name} {_scheme(scheme)}")
    for requirement in card.security_requirements:
        lines.field("Security requirement", _requirement(requirement))


def _add_skill(lines: Lines, skill: AgentSkill, *, is_verbose: bool) -> None:
    lines.field("Skill", f"{skill.id} {skill.name}")
    lines.block("Skill description", skill.description)
    if is_verbose:
        lines.field("Skill tags", ", ".join(skill.tags))
        for example in skill.examples:
            lines.field("Skill example", example)


def _interface(interface: AgentInterface) -> str:
    tenant = f" [{interface.tenant}]" if interface.tenant else ""
    return f"{interface.protocol_binding} {interface.protocol_version} {interface.url}{tenant}"


def _scheme(scheme: SecurityScheme) -> str:
    if scheme.api_key_security_scheme is not None:
        key = scheme.api_key_security_scheme
        return f"apiKey in {key.location} {key.name}"
    if scheme.http_auth_security_scheme is not None:
        return f"http {scheme.http_auth_security_scheme.scheme}"
    if scheme.oauth2_security_scheme is not None:
        return "oauth2"
    if scheme.open_id_connect_security_scheme is not None:
        return f"openIdConnect {scheme.open_id_connect_security_scheme.open_id_connect_url}"
    return "mutualTLS"


def _requirement(requirement: SecurityRequirement) -> str:
    wanted = [
        f"{name} ({', '.join(scopes.list)})" if scopes.list else name
        for name, scopes in requirement.schemes.items()
    ]
    return " and ".join(wanted) or "nothing"


def _yes_or_no(fact: bool | None) -> str:  # noqa: FBT001 - a fact of the card, not a switch
    return "yes" if fact else "no"
