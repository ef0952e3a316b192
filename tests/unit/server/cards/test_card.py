import json
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from dragoman.auth.incoming.authenticator import Evidence
from dragoman.auth.incoming.combining import AllOf, Alternative, Combination
from dragoman.dialects.negotiation import V0_1, V0_3, V1_0, Version
from dragoman.errors import UsageError
from dragoman.extensions.base import CardFacts, Presence
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentExtension, AgentProvider, AgentSkill
from dragoman.model.security import APIKeySecurityScheme, SecurityScheme
from dragoman.server.admission.authorization import Policy, Sharing
from dragoman.server.cards.card import (
    SKILL_SCHEMA_EXTENSION,
    CardFile,
    Describes,
    PublishedCards,
    capabilities_of,
    is_fresh,
)
from dragoman.server.settings import Advertised, CardSettings
from dragoman.service.principal import Principal

STARTED_MS = 1_767_225_600_999
STARTED = "Thu, 01 Jan 2026 00:00:00 GMT"
BASE = "https://agent.example"


@dataclass(frozen=True)
class Described:
    """An agent that says something of itself."""

    name: str = "Echo"
    description: str = "Repeats what it is told."
    version: str = "1.2.3"
    provider: AgentProvider | None = None
    documentation_url: str | None = None
    presence: Presence | None = None
    icon_url: str | None = None
    tenants: tuple[str, ...] = ()
    extensions: tuple[AgentExtension, ...] = ()
    streaming: bool = True
    extended_card: bool = False
    skills: tuple[AgentSkill, ...] = (
        AgentSkill(id="echo", name="Echo", description="Repeat.", tags=("echo",)),
    )
    hidden_skills: tuple[AgentSkill, ...] = ()
    skill_scopes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    auth: tuple[Alternative, ...] = ()
    authorize: Policy | None = None
    share: Sharing | None = None
    schemas: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    input_modes: tuple[str, ...] = ("text/plain",)
    output_modes: tuple[str, ...] = ("text/plain",)


def published(agent: Describes, base: str = BASE, version: Version | None = V1_0) -> dict[str, Any]:
    """Return the card as a client of 1.0 reads it, or as another one does."""
    return json.loads(PublishedCards(agent, STARTED_MS).file(base, version).body)


# --- what a card says -------------------------------------------------------------------------


@pytest.mark.requirement("R-5.7-1", "R-14.3-1")
def test_a_card_has_every_required_member() -> None:
    assert published(Described()) == {
        "name": "Echo",
        "description": "Repeats what it is told.",
        "supportedInterfaces": [
            {"url": f"{BASE}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": BASE, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": f"{BASE}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": BASE, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
            {"url": f"{BASE}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.2"},
            {"url": f"{BASE}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.1"},
        ],
        "version": "1.2.3",
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "echo", "name": "Echo", "description": "Repeat.", "tags": ["echo"]},
        ],
    }


def test_a_card_says_all_that_the_agent_says() -> None:
    card = published(
        Described(
            provider=AgentProvider(organization="Acme", url="https://acme.example"),
            documentation_url="https://acme.example/docs",
            icon_url="https://acme.example/icon.png",
        )
    )
    assert card["provider"] == {"organization": "Acme", "url": "https://acme.example"}
    assert card["documentationUrl"] == "https://acme.example/docs"
    assert card["iconUrl"] == "https://acme.example/icon.png"


def test_an_agent_that_does_not_describe_itself_is_described_by_its_name() -> None:
    assert published(Described(description=""))["description"] == "Echo"


def test_an_agent_without_skills_is_not_published() -> None:
    with pytest.raises(UsageError, match=r"agent 'Echo' has no skills; .* @agent\.skill"):
        PublishedCards(Described(skills=()), STARTED_MS)


def test_a_card_that_is_larger_than_clients_read_is_not_published() -> None:
    desk = PublishedCards(Described(), STARTED_MS)
    size = len(desk.file("http://localhost").body)
    desk.check_size(size)
    with pytest.raises(UsageError, match=f"has {size} bytes; max_card_bytes is {size - 1}"):
        desk.check_size(size - 1)


@pytest.mark.requirement("R-5.2-1", "R-8.3-1", "R-8.3.1-2", "R-8.3.1-3")
def test_every_binding_of_every_tenant_is_declared_the_default_first() -> None:
    interfaces = published(Described(tenants=("acme", "beta")))["supportedInterfaces"]
    ours = [i for i in interfaces if i["protocolVersion"] == "1.0"]
    assert interfaces[: len(ours)] == ours
    assert [(i.get("tenant", ""), i["protocolBinding"], i["url"]) for i in ours] == [
        (tenant, binding, url)
        for tenant in ("", "acme", "beta")
        for binding, url in (("JSONRPC", f"{BASE}/"), ("HTTP+JSON", BASE))
    ]
    # Readers of older versions know no tenants.
    assert not any("tenant" in i for i in interfaces[len(ours) :])


def listed(settings: CardSettings, grpc_port: int | None = 0) -> dict[str, list[str]]:
    """Return the bindings on the card of each version."""
    desk = PublishedCards(Described(), STARTED_MS, settings=settings)
    if grpc_port is not None:
        desk.offer_grpc(grpc_port)
    found: dict[str, list[str]] = {}
    for interface in json.loads(desk.file(BASE).body)["supportedInterfaces"]:
        found.setdefault(interface["protocolVersion"], []).append(interface["protocolBinding"])
    return found


@pytest.mark.parametrize(
    ("advertise", "expected"),
    [
        (("jsonrpc", "http+json"), ["JSONRPC", "HTTP+JSON"]),
        (("jsonrpc", "http+json", "grpc"), ["JSONRPC", "HTTP+JSON", "GRPC"]),
        (("grpc",), ["JSONRPC", "HTTP+JSON", "GRPC"]),
        (("jsonrpc",), ["JSONRPC"]),
        (("http+json", "grpc"), ["HTTP+JSON", "GRPC"]),
        ((), ["JSONRPC", "HTTP+JSON"]),
    ],
)
def test_a_card_lists_what_is_advertised(
    advertise: tuple[Advertised, ...], expected: list[str]
) -> None:
    # The oldest have one binding, and are listed with it whatever is named.
    older = {"0.2": ["JSONRPC"], "0.1": ["JSONRPC"]}
    assert listed(CardSettings(advertise=advertise)) == {"1.0": expected, "0.3": expected, **older}


def test_a_port_for_grpc_alone_is_listed_unasked() -> None:
    assert "GRPC" in listed(CardSettings(), 9090)["1.0"]


def test_grpc_that_nobody_serves_is_not_listed() -> None:
    assert "GRPC" not in listed(CardSettings(advertise=("grpc",)), None)["1.0"]


def test_grpc_is_declared_where_it_is_offered() -> None:
    desk = PublishedCards(Described(), STARTED_MS, settings=CardSettings(advertise=("grpc",)))
    assert "GRPC" not in desk.file(BASE).body.decode()
    desk.offer_grpc(0)
    shared = json.loads(desk.file(BASE).body)["supportedInterfaces"]
    desk.offer_grpc(9090)
    apart = json.loads(desk.file(BASE).body)["supportedInterfaces"]
    for interfaces, url in ((shared, "agent.example:443"), (apart, "agent.example:9090")):
        found = [i for i in interfaces if i["protocolBinding"] == "GRPC"]
        assert [(i["protocolVersion"], i["url"]) for i in found] == [("1.0", url), ("0.3", url)]


class Signed:
    """An authenticator whose callers sign bodies."""

    name, challenge = "signed", ""
    scheme = SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="S")
    )
    signs_bodies, is_optional = True, False

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        del evidence
        return None


def test_where_callers_sign_bodies_json_rpc_alone_is_listed() -> None:
    desk = PublishedCards(Described(), STARTED_MS, Combination(Signed()))
    desk.offer_grpc(0)
    listed = json.loads(desk.file(BASE).body)["supportedInterfaces"]
    assert [(i["protocolVersion"], i["protocolBinding"]) for i in listed] == [
        (version, "JSONRPC") for version in ("1.0", "0.3", "0.2", "0.1")
    ]


def test_one_document_serves_readers_of_all_versions() -> None:
    merged = published(Described(), version=None)
    for version in (V1_0, Version(0, 3), V0_1):
        assert facts(merged) >= facts(published(Described(), version=version))


def test_a_card_may_have_the_members_of_1_0_alone() -> None:
    desk = PublishedCards(Described(), STARTED_MS, settings=CardSettings(card="1.0"))
    assert desk.file(BASE) == desk.file(BASE, V1_0)
    assert desk.file(BASE, V0_3) != desk.file(BASE, V1_0)
    # Readers of 0.1 and 0.2 look elsewhere, and find theirs.
    old = json.loads(desk.file(BASE, is_old_place=True).body)
    assert old["url"] == f"{BASE}/"
    assert "supportedInterfaces" not in old


def test_a_version_that_is_not_served_gets_the_document_for_all() -> None:
    assert published(Described(), version=Version(9, 9)) == published(Described(), version=None)


def facts(value: object, path: str = "") -> set[tuple[str, str]]:
    """Return what a document says, member by member."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
    elif isinstance(value, list):
        members = ((str(i), each) for i, each in enumerate(cast("list[object]", value)))
    else:
        return {(path, repr(value))}
    return {fact for name, each in members for fact in facts(each, f"{path}/{name}")}


def test_the_address_is_the_one_the_caller_used() -> None:
    interfaces = published(Described(), "http://other:8000/mount/")["supportedInterfaces"]
    assert {interface["url"] for interface in interfaces} == {
        "http://other:8000/mount/",
        "http://other:8000/mount",
    }


# --- capabilities -----------------------------------------------------------------------------


@pytest.mark.requirement("R-4.6.1-1")
def test_extensions_are_declared() -> None:
    extension = AgentExtension(uri="https://example.com/x", required=True)
    assert capabilities_of(Described(extensions=(extension,))).extensions == (extension,)


def test_an_extension_without_a_uri_is_not_published() -> None:
    with pytest.raises(UsageError, match="an extension of this agent has no uri"):
        PublishedCards(Described(extensions=(AgentExtension(description="?"),)), STARTED_MS)


def test_the_shape_of_a_skills_data_is_published_as_an_extension() -> None:
    schema: JsonObject = {"type": "object"}
    (extension,) = capabilities_of(Described(schemas={"echo": schema})).extensions
    assert extension.uri == SKILL_SCHEMA_EXTENSION
    assert not extension.required
    assert extension.params == {"echo": {"input": schema}}


def test_capabilities_are_what_the_agent_says() -> None:
    capabilities = capabilities_of(Described(streaming=False, extended_card=True))
    assert (capabilities.streaming, capabilities.extended_agent_card) == (False, True)


# --- caching ----------------------------------------------------------------------------------


def test_the_same_card_has_the_same_etag_in_every_process() -> None:
    first, second = (PublishedCards(Described(), started).file(BASE) for started in (1, 2_000))
    assert first.etag == second.etag
    assert first.body == second.body


@pytest.mark.parametrize(
    ("agent", "base"),
    [
        (replace(Described(), version="1.2.4"), BASE),
        (Described(), "https://other.example"),
    ],
)
def test_another_card_has_another_etag(agent: Described, base: str) -> None:
    assert (
        PublishedCards(agent, 1).file(base).etag != PublishedCards(Described(), 1).file(BASE).etag
    )


def test_an_etag_is_quoted() -> None:
    etag = PublishedCards(Described(), STARTED_MS).file(BASE).etag
    assert etag.startswith('"')
    assert etag.endswith('"')
    assert etag.strip('"').isalnum()


def test_a_card_was_last_modified_when_the_server_started() -> None:
    assert PublishedCards(Described(), STARTED_MS).file(BASE).last_modified == STARTED


def test_a_card_is_made_once_per_address() -> None:
    desk = PublishedCards(Described(), STARTED_MS)
    assert desk.file(BASE) is desk.file(BASE)


FILE = CardFile(b"{}", '"abc"', STARTED)


@pytest.mark.parametrize(
    ("if_none_match", "if_modified_since", "expected"),
    [
        # The client has no copy.
        (None, None, False),
        # It has this one: alone, in a list, weak, or whichever.
        ('"abc"', None, True),
        ('"x", "abc"', None, True),
        ('W/"abc"', None, True),
        ("*", None, True),
        # It has another one.
        ('"x"', None, False),
        ("abc", None, False),
        ("", None, False),
        # Dates count to the second.
        (None, STARTED, True),
        (None, "Thu, 01 Jan 2026 00:00:01 GMT", True),
        (None, "Wed, 31 Dec 2025 23:59:59 GMT", False),
        # The tag counts where there are both.
        ('"x"', STARTED, False),
        ('"abc"', "Wed, 31 Dec 2025 23:59:59 GMT", True),
        # What is no date says nothing.
        (None, "yesterday", False),
        (None, "", False),
        (None, "Thu, 01 Jan 2026 00:00:00 -0000", False),
        (None, "Thu, 01 Jan 99999999999999999999 00:00:00 GMT", False),
        (None, "Thu, 99999999999999999999 Jan 2026 00:00:00 GMT", False),
        (None, "Thu, 01 Jan 2026 00:00:00 +99999999999999999999", False),
    ],
)
def test_a_copy_is_fresh_when_the_client_can_show_it(
    if_none_match: str | None,
    if_modified_since: str | None,
    expected: bool,  # noqa: FBT001 - a column of a table
) -> None:
    assert is_fresh(FILE, if_none_match, if_modified_since) is expected


# --- who may call -------------------------------------------------------------------------------


class Keys:
    """An authenticator, as far as a card needs one."""

    challenge = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scheme = SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(location="header", name=f"X-{name}")
        )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        raise AssertionError(evidence)


GUARDED = Described(
    auth=(Keys("one"), AllOf(Keys("two"), Keys("three"))),
    skill_scopes={"echo": frozenset({"say", "hear"})},
)


def guarded(version: Version | None) -> dict[str, Any]:
    desk = PublishedCards(GUARDED, STARTED_MS, Combination(GUARDED.auth))
    return json.loads(desk.file(BASE, version).body)


def test_the_card_of_1_0_says_what_to_show() -> None:
    card = guarded(V1_0)
    assert card["securitySchemes"]["one"] == {
        "apiKeySecurityScheme": {"location": "header", "name": "X-one"}
    }
    assert card["securityRequirements"] == [
        {"schemes": {"one": {}}},
        {"schemes": {"two": {}, "three": {}}},
    ]
    needed = {"list": ["hear", "say"]}
    assert card["skills"][0]["securityRequirements"] == [
        {"schemes": {"one": needed}},
        {"schemes": {"two": needed, "three": needed}},
    ]


def test_the_card_of_0_3_says_it_in_its_words() -> None:
    card = guarded(Version(0, 3))
    assert card["securitySchemes"]["one"] == {"type": "apiKey", "in": "header", "name": "X-one"}
    assert card["security"] == [{"one": []}, {"two": [], "three": []}]
    assert card["skills"][0]["security"][0] == {"one": ["hear", "say"]}


def test_the_card_of_0_1_names_the_schemes() -> None:
    assert guarded(V0_1)["authentication"]["schemes"] == ["ApiKey"]


def test_the_card_for_all_readers_has_it_in_every_form() -> None:
    card = guarded(None)
    assert {"securityRequirements", "security", "authentication"} <= set(card)
    assert card["securitySchemes"]["one"]["type"] == "apiKey"
    assert "apiKeySecurityScheme" in card["securitySchemes"]["one"]


def test_what_is_hidden_is_not_hinted_at() -> None:
    hidden = AgentSkill(id="vault", name="Vault", description="Open it.", tags=("vault",))
    agent = Described(hidden_skills=(hidden,), schemas={"vault": {"type": "object"}})
    assert "vault" not in json.dumps(published(agent, version=None)).lower()
    assert capabilities_of(agent).extensions == ()


def test_an_agent_that_hides_everything_has_no_card() -> None:
    hidden = AgentSkill(id="vault", name="Vault", description="Open it.", tags=("vault",))
    with pytest.raises(UsageError, match="hides all its skills"):
        PublishedCards(Described(skills=(), hidden_skills=(hidden,)), STARTED_MS)


# --- what another system says of the agent ------------------------------------------------------


class Known:
    """A system that knows the agent."""

    uri = "https://example.com/known/v1"

    def __init__(self) -> None:
        self.now = known_facts(1)

    async def facts(self) -> CardFacts:
        return self.now

    async def aclose(self) -> None: ...


def known_facts(score: int) -> CardFacts:
    members: JsonObject = {"known:score": score}
    return CardFacts(
        name="The Echo",
        tags=("echo", "loud"),
        extension=AgentExtension(uri=Known.uri, params=members),
        members=members,
        changed_ms=STARTED_MS + score * 1000,
    )


async def test_the_card_says_what_another_system_says() -> None:
    desk = PublishedCards(Described(presence=Known()), STARTED_MS)
    await desk.refresh()
    shown = json.loads(desk.file(BASE).body)
    assert (shown["name"], shown["description"]) == ("The Echo", "Repeats what it is told.")
    assert shown["skills"][0]["tags"] == ["echo", "loud"]
    assert shown["known:score"] == 1
    for version in (V1_0, V0_3, Version(0, 2)):
        listed = json.loads(desk.file(BASE, version).body)
        assert listed["capabilities"]["extensions"] == [
            {"uri": Known.uri, "params": {"known:score": 1}}
        ]
        # 1.0 has a place for it, and no other.
        assert ("known:score" in listed) is (version != V1_0)
    assert json.loads(desk.file(BASE, V0_1).body)["known:score"] == 1


async def test_the_card_changes_with_what_is_said() -> None:
    known = Known()
    desk = PublishedCards(Described(presence=known), STARTED_MS)
    await desk.refresh()
    first = desk.file(BASE)
    await desk.refresh()
    assert desk.file(BASE) is first
    known.now = known_facts(2)
    await desk.refresh()
    second = desk.file(BASE)
    assert json.loads(second.body)["known:score"] == 2
    assert second.etag != first.etag
    assert not is_fresh(second, None, first.last_modified)


def test_an_extension_can_be_activated_before_anything_is_known() -> None:
    declared = capabilities_of(Described(presence=Known())).extensions
    assert [each.uri for each in declared] == [Known.uri]
