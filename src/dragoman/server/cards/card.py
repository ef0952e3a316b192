"""The Agent Card this server publishes: built from the agent, addressed for the caller, cached."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.incoming.combining import Alternative, Combination
from dragoman.dialects.negotiation import Version
from dragoman.dialects.registry import BINDINGS, RELEASES, Binding, Release, release_of
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from dragoman.model.security import SecurityRequirement, StringList
from dragoman.server.admission.authorization import Policy, Sharing
from dragoman.server.admission.client_address import grpc_address
from dragoman.server.settings import CardSettings

if TYPE_CHECKING:
    from dragoman.extensions.base import CardFacts, Presence
    from dragoman.server.cards.signing import CardSigning

__all__ = ("CardFile", "Describes", "PublishedCards", "capabilities_of", "is_fresh")

SKILL_SCHEMA_EXTENSION: Final = "https://dragoman.dev/extensions/skill-schema/v1"
"""AgentSkill has no member for the shape of its data, so an extension publishes it."""

_BASES: Final = 64
"""Addresses under which one agent is reached; callers choose them, so the memory is bounded."""


class Describes(Protocol):
    """What an agent says of itself."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def description(self) -> str:
        """What it is for."""
        ...

    @property
    def version(self) -> str:
        """Its own version."""
        ...

    @property
    def provider(self) -> AgentProvider | None:
        """Who runs it."""
        ...

    @property
    def documentation_url(self) -> str | None:
        """Where its documentation is."""
        ...

    @property
    def icon_url(self) -> str | None:
        """Where its icon is."""
        ...

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants it serves beside the default one."""
        ...

    @property
    def extensions(self) -> tuple[AgentExtension, ...]:
        """The protocol extensions it supports."""
        ...

    @property
    def streaming(self) -> bool:
        """Whether callers may follow the work."""
        ...

    @property
    def extended_card(self) -> bool:
        """Whether the card promises a fuller one."""
        ...

    @property
    def presence(self) -> Presence | None:
        """The agent as another system knows it, if one does."""
        ...

    @property
    def auth(self) -> tuple[Alternative, ...]:
        """The ways for callers to show who they are; none if it does not ask."""
        ...

    @property
    def authorize(self) -> Policy | None:
        """What decides about the wishes of callers, if anything."""
        ...

    @property
    def share(self) -> Sharing | None:
        """What decides in whose records a caller works, if not in its own."""
        ...

    @property
    def skills(self) -> tuple[AgentSkill, ...]:
        """What it can do, the default first."""
        ...

    @property
    def hidden_skills(self) -> tuple[AgentSkill, ...]:
        """What it can do beside that, for those who may know of it."""
        ...

    @property
    def skill_scopes(self) -> Mapping[str, frozenset[str]]:
        """The scopes that skills need; those that need none may be left out."""
        ...

    @property
    def schemas(self) -> Mapping[str, JsonObject]:
        """The JSON Schema of the data each skill takes."""
        ...

    @property
    def input_modes(self) -> tuple[str, ...]:
        """The media types it takes."""
        ...

    @property
    def output_modes(self) -> tuple[str, ...]:
        """The media types it gives."""
        ...


class CardFile(Struct, frozen=True, gc=False):
    """A card as bytes, with the validators of RFC 9110."""

    body: bytes
    etag: str
    last_modified: str


def capabilities_of(
    agent: Describes,
    skills: Sequence[AgentSkill] | None = None,
    facts: CardFacts | None = None,
    *,
    has_push: bool = False,
) -> AgentCapabilities:
    """Return what the card declares, which is what is enforced.

    Args:
        skills: those that the card lists; the public ones unless given.
        facts: what another system says of the agent.
        has_push: whether webhooks can be registered (R-3.5.1-2, R-T.str-5).
    """
    extensions = agent.extensions
    if agent.presence is not None:
        extensions += (facts.extension if facts else AgentExtension(uri=agent.presence.uri),)
    listed = agent.skills if skills is None else skills
    schemas: JsonObject = {
        s.id: {"input": agent.schemas[s.id]} for s in listed if s.id in agent.schemas
    }
    if schemas:
        extensions += (
            AgentExtension(
                uri=SKILL_SCHEMA_EXTENSION,
                description="The JSON Schema of the data each skill takes.",
                params=schemas,
            ),
        )
    for extension in extensions:
        if not extension.uri:
            raise UsageError("an extension of this agent has no uri")
    return AgentCapabilities(
        streaming=agent.streaming,
        push_notifications=has_push,
        extensions=extensions,
        extended_agent_card=agent.extended_card,
    )


class PublishedCards:
    """Hands out the card."""

    def __init__(
        self,
        agent: Describes,
        started_ms: int,
        authentication: Combination | None = None,
        signing: CardSigning | None = None,
        settings: CardSettings | None = None,
        *,
        has_push: bool = False,
    ) -> None:
        """Check what will be published.

        Args:
            authentication: what callers must show; it is what is enforced.
            signing: signs what is handed out.
            settings: what it lists, if not what is usual.
            has_push: whether webhooks can be registered.

        Raises:
            UsageError: the agent lacks something a card must have (Q-20).
        """
        if not agent.skills and agent.hidden_skills:
            raise UsageError(f"agent {agent.name!r} hides all its skills; a card must show one")
        if not agent.skills:
            raise UsageError(
                f"agent {agent.name!r} has no skills; mark a function with @agent.skill"
            )
        capabilities_of(agent)
        self._agent = agent
        self._has_push = has_push
        settings = settings or CardSettings()
        self._path = settings.path
        self._advertised = {each for each in BINDINGS if each.lower() in settings.advertise}
        # A signature covers one form of the card and no other (0.x reference, 5.2), so each form
        # is a document of its own.
        self._is_merged = settings.card == "all" and signing is None
        self._signing = signing
        self._schemes = authentication.schemes if authentication else {}
        self._requirements = authentication.requirements if authentication else ()
        self._is_rpc_alone = authentication is not None and authentication.needs_body
        self._last_modified = formatdate(started_ms / 1000, usegmt=True)
        self._file = lru_cache(maxsize=_BASES)(self._make)
        self._grpc_port: int | None = None
        self._facts: CardFacts | None = None

    async def refresh(self) -> None:
        """Have the cards to come say what is known of the agent elsewhere."""
        if self._agent.presence is None:
            return
        facts = await self._agent.presence.facts()
        if facts != self._facts:
            self._facts = facts
            self._last_modified = formatdate(facts.changed_ms / 1000, usegmt=True)
            self._file.cache_clear()

    def offer_grpc(self, port: int) -> None:
        """Have gRPC listed if that is wished: on this port, or with 0 on the port of HTTP.

        A port of its own is listed in any case: nobody would find it.
        """
        self._grpc_port = port
        self._file.cache_clear()

    def card(
        self,
        base_url: str,
        *,
        skills: Sequence[AgentSkill] | None = None,
        tenants: Sequence[str] | None = None,
    ) -> AgentCard:
        """Return the card of the agent whose address is ``base_url``.

        Args:
            skills: those to list; the public ones unless given.
            tenants: those to list, "" for the default one; all unless given.
        """
        agent, facts = self._agent, self._facts
        listed = agent.skills if skills is None else skills
        served = ("", *agent.tenants) if tenants is None else tenants
        base = (facts and facts.url.rstrip("/")) or base_url.rstrip("/") + self._path
        return AgentCard(
            name=(facts and facts.name) or agent.name,
            description=(facts and facts.description) or agent.description or agent.name,
            supported_interfaces=self._interfaces(base, served),
            provider=agent.provider,
            version=agent.version,
            documentation_url=agent.documentation_url,
            capabilities=capabilities_of(agent, listed, facts, has_push=self._has_push),
            security_schemes=self._schemes,
            security_requirements=self._requirements,
            default_input_modes=agent.input_modes,
            default_output_modes=agent.output_modes,
            skills=tuple(self._with_scopes(self._with_tags(skill)) for skill in listed),
            icon_url=agent.icon_url,
        )

    def _with_tags(self, skill: AgentSkill) -> AgentSkill:
        if self._facts is None or not self._facts.tags:
            return skill
        return replace(skill, tags=tuple(dict.fromkeys((*skill.tags, *self._facts.tags))))

    def _with_scopes(self, skill: AgentSkill) -> AgentSkill:
        """Say what a skill needs: as the whole agent, and the scopes with it."""
        needed = self._agent.skill_scopes.get(skill.id)
        if not needed:
            return skill
        requirements = tuple(
            SecurityRequirement(
                schemes={
                    name: StringList(list=tuple(sorted({*scopes.list, *needed})))
                    for name, scopes in requirement.schemes.items()
                }
            )
            for requirement in self._requirements
        )
        return replace(skill, security_requirements=requirements)

    def _interfaces(self, base: str, tenants: Sequence[str]) -> tuple[AgentInterface, ...]:
        urls: dict[Binding, str] = {"JSONRPC": f"{base}/"}
        if not self._is_rpc_alone:
            urls["HTTP+JSON"] = base
            if self._grpc_port or (self._grpc_port == 0 and "GRPC" in self._advertised):
                # the gRPC libraries of 0.3 and of 1.0 alike are given it as it stands.
                urls["GRPC"] = grpc_address(base, self._grpc_port)
        return tuple(
            AgentInterface(
                url=urls[binding],
                protocol_binding=binding,
                tenant=tenant,
                protocol_version=str(release.version),
            )
            for release in RELEASES
            # 0.x reference, 5.2: readers of the older versions know no tenants.
            for tenant in tenants
            if not tenant or release.card.has_tenants
            for binding in self._listed(release, urls)
        )

    def _listed(self, release: Release, urls: Collection[Binding]) -> Iterator[Binding]:
        """Return the bindings on which a version is listed: by one over HTTP/1.1 at least."""
        served: list[Binding] = [binding for binding in release.listed if binding in urls]
        over_http: list[Binding] = [binding for binding in served if binding != "GRPC"]
        named: list[Binding] = [each for each in over_http if each in self._advertised]
        yield from named or over_http
        if "GRPC" in served:
            yield "GRPC"

    def file(
        self, base_url: str, version: Version | None = None, *, is_old_place: bool = False
    ) -> CardFile:
        """Return the card as bytes: as a version has it, or one that readers of all can read.

        Args:
            is_old_place: it is asked for where 0.1 and 0.2 look. That makes a difference if no
                version is named, and the card is not one for all readers.
        """
        # Callers choose the version: one that nobody knows is none, and takes no room in memory.
        release = release_of(version)
        forms = (release,) if release else self._forms(is_old_place=is_old_place)
        return self._file(base_url, forms)

    def _forms(self, *, is_old_place: bool) -> tuple[Release, ...]:
        """Return the versions whose readers one card is for."""
        if self._is_merged:
            return RELEASES
        unsigned = tuple(release for release in RELEASES if not release.card.is_signed)
        return unsigned if is_old_place else RELEASES[:1]

    def check_size(self, limit: int) -> None:
        """Raise UsageError for a card that is larger than clients read."""
        size = len(self.file("http://localhost").body)
        if size > limit:
            raise UsageError(
                f"the card of agent {self._agent.name!r} has {size} bytes; "
                f"max_card_bytes is {limit}"
            )

    def _make(self, base_url: str, forms: tuple[Release, ...]) -> CardFile:
        card = self.card(base_url)
        rules = [release.card for release in forms]
        # Versions that write it alike need not do so twice.
        body = _merged(*(encode(card) for encode in dict.fromkeys(rule.encode for rule in rules)))
        if self._facts is not None and any(rule.is_open for rule in rules):
            body = _with_members(body, self._facts.members)
        if self._signing is not None and all(rule.is_signed for rule in rules):
            body = self._signing.signed(body)
        # R-8.6.1-2: an ETag from a hash of the content.
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        return CardFile(body, etag, self._last_modified)


def _with_members(document: bytes, more: JsonObject) -> bytes:
    """Return a card with members of another system's at its top."""
    if not more:
        return document
    return msgspec.json.encode({**msgspec.json.decode(document, type=dict[str, object]), **more})


def _merged(*forms: bytes) -> bytes:
    if len(forms) == 1:
        return forms[0]
    merged: object = reduce(_merge, (msgspec.json.decode(form) for form in forms))
    return msgspec.json.encode(merged)


def _merge(first: object, second: object) -> object:
    """Return what readers of either document can read; where both name a thing, the first counts.

    The forms of the card describe the same agent, so arrays of the same length hold the same
    things in the same order.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        ours, theirs = cast("JsonObject", first), cast("JsonObject", second)
        both = {name: _merge(ours[name], theirs[name]) for name in ours if name in theirs}
        return theirs | ours | both
    if isinstance(first, list) and isinstance(second, list):
        items, others = cast("list[object]", first), cast("list[object]", second)
        if len(items) == len(others):
            return [_merge(item, other) for item, other in zip(items, others, strict=True)]
    return cast("object", first)


def is_fresh(file: CardFile, if_none_match: str | None, if_modified_since: str | None) -> bool:
    """Tell whether the client's copy is still good (RFC 9110, section 13.2.2)."""
    if if_none_match is not None:
        tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
        return any(tag in ("*", file.etag) for tag in tags)
    if if_modified_since is None:
        return False
    try:
        return parsedate_to_datetime(if_modified_since) >= parsedate_to_datetime(file.last_modified)
    except (ValueError, TypeError, OverflowError):
        return False
