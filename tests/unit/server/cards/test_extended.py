from dragoman import AccessRequest, Agent, Evidence, Principal
from dragoman.auth.incoming.combining import Combination
from dragoman.model.cards import AgentCard
from dragoman.model.security import APIKeySecurityScheme, SecurityScheme
from dragoman.server.admission.authorization import Access
from dragoman.server.cards.card import SKILL_SCHEMA_EXTENSION, PublishedCards
from dragoman.server.cards.extended import ExtendedCards
from dragoman.service.service import Call

BASE = "https://agent.example"


class Keys:
    """An authenticator, as far as a card needs one."""

    name, challenge = "key", ""
    scheme = SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Key")
    )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        raise AssertionError(evidence)


def bank() -> Agent:
    agent = Agent("Bank", tenants=["acme", "umbrella"], auth=[Keys()], extended_card=True)

    @agent.skill
    async def rates(text: str) -> str:
        return text

    @agent.skill(scopes=["pay"])
    async def transfer(amount: int) -> str:
        return str(amount)

    @agent.skill(scopes=["audit"], hidden=True)
    async def books(year: int) -> str:
        return str(year)

    @agent.skill(hidden=True)
    async def lobby(floor: int) -> str:
        return str(floor)

    return agent


async def card_for(principal: Principal, access: Access | None = None) -> AgentCard:
    agent = bank()
    desk = PublishedCards(agent, 0, Combination(agent.auth))
    cards = ExtendedCards(agent, desk, access or Access())
    return await cards.make(Call(principal=principal, base_url=BASE))


def shown(card: AgentCard) -> list[str]:
    return [skill.id for skill in card.skills]


async def test_a_caller_sees_what_its_scopes_open() -> None:
    assert shown(await card_for(Principal(owner="ada"))) == ["rates", "lobby"]
    everything = Principal(owner="ada", scopes=frozenset({"pay", "audit"}))
    assert shown(await card_for(everything)) == ["rates", "transfer", "books", "lobby"]


async def test_what_the_policy_forbids_is_not_shown() -> None:
    def policy(request: AccessRequest) -> bool:
        return request.skill_id == "rates"

    assert shown(await card_for(Principal(owner="ada"), Access(policy))) == ["rates"]


async def test_the_schemas_are_those_of_the_skills_that_are_shown() -> None:
    card = await card_for(Principal(owner="ada", scopes=frozenset({"audit"})))
    (extension,) = card.capabilities.extensions
    assert extension.uri == SKILL_SCHEMA_EXTENSION
    assert extension.params is not None
    assert sorted(extension.params) == ["books", "lobby"]


async def test_tenants_are_those_the_caller_may_use() -> None:
    card = await card_for(Principal(owner="dan", tenants=frozenset({"acme", "elsewhere"})))
    assert {item.tenant for item in card.supported_interfaces} == {"acme"}
    assert all(item.url.startswith(BASE) for item in card.supported_interfaces)
    everywhere = await card_for(Principal(owner="ada"))
    assert {item.tenant for item in everywhere.supported_interfaces} == {"", "acme", "umbrella"}
