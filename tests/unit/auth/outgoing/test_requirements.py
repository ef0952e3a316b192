from collections.abc import Mapping
from typing import ClassVar

import pytest

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import (
    NOTHING,
    ApiKey,
    Attachment,
    Basic,
    Bearer,
    Custom,
    OriginBound,
)
from dragoman.auth.outgoing.errors import MissingCredentialsError
from dragoman.auth.outgoing.grants import ClientCredentials
from dragoman.auth.outgoing.requirements import Choice, Held, choose, signs_bodies
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentSkill
from dragoman.model.security import (
    APIKeySecurityScheme,
    ClientCredentialsOAuthFlow,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

AGENT, OTHER = "https://agent.example", "https://other.example"

SCHEMES = {
    "key": SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Key")
    ),
    "second": SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="query", name="second")
    ),
    "token": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")),
    "password": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic")),
    "oauth": SecurityScheme(
        oauth2_security_scheme=OAuth2SecurityScheme(
            flows=OAuthFlows(
                client_credentials=ClientCredentialsOAuthFlow(token_url=f"{AGENT}/token", scopes={})
            )
        )
    ),
    "mtls": SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()),
}

Alternative = Mapping[str, tuple[str, ...]]


def requirement(alternative: Alternative) -> SecurityRequirement:
    schemes = {name: StringList(list=scopes) for name, scopes in alternative.items()}
    return SecurityRequirement(schemes=schemes)


def card_of(
    *alternatives: Alternative,
    schemes: Mapping[str, SecurityScheme] = SCHEMES,
    skill: tuple[Alternative, ...] = (),
) -> AgentCard:
    return AgentCard(
        name="a",
        description="",
        supported_interfaces=(),
        version="1",
        capabilities=AgentCapabilities(),
        security_schemes=schemes,
        security_requirements=tuple(map(requirement, alternatives)),
        default_input_modes=(),
        default_output_modes=(),
        skills=(
            AgentSkill(
                id="s",
                name="s",
                description="s",
                tags=(),
                security_requirements=tuple(map(requirement, skill)),
            ),
        ),
    )


async def attached(card: AgentCard, held: Held, **options: str) -> Attachment:
    return await choose(card, held, origin=AGENT, **options).attach(AGENT)


def findings(card: AgentCard, held: Held, **options: str) -> tuple[str, ...]:
    with pytest.raises(MissingCredentialsError) as caught:
        choose(card, held, **{"origin": AGENT, **options})
    return caught.value.findings


@pytest.mark.requirement("R-7.3-1", "R-3.1.11-3")
async def test_credentials_travel_as_the_card_says() -> None:
    assert await attached(card_of({"key": ()}), ApiKey("k")) == Attachment(headers={"X-Key": "k"})
    assert await attached(card_of({"second": ()}), ApiKey("k")) == Attachment(query={"second": "k"})
    assert await attached(card_of({"token": ()}), Bearer("t")) == Attachment(
        headers={"Authorization": "Bearer t"}
    )


async def test_the_first_alternative_that_can_be_met_is_taken() -> None:
    card = card_of({"token": ()}, {"password": ()}, {"key": ()})
    choice = choose(card, [ApiKey("k"), Basic("u", "p")], origin=AGENT)
    assert choice.schemes == ("password",)
    assert set((await choice.attach(AGENT)).headers) == {"Authorization"}


async def test_all_schemes_of_an_alternative_go_together() -> None:
    card = card_of({"token": (), "key": ()})
    choice = choose(card, [ApiKey("k"), Bearer("t")], origin=AGENT)
    assert choice.schemes == ("token", "key")
    assert await choice.attach(AGENT) == Attachment(
        headers={"X-Key": "k", "Authorization": "Bearer t"}
    )


async def test_two_keys_are_not_one_key_twice() -> None:
    card = card_of({"key": (), "second": ()})
    assert findings(card, ApiKey("1")) == ("'second' (an API key, query second: ApiKey)",)
    assert await attached(card, [ApiKey("2", name="second"), ApiKey("1")]) == Attachment(
        headers={"X-Key": "1"}, query={"second": "2"}
    )


async def test_an_alternative_that_is_half_met_is_not_met() -> None:
    card = card_of({"token": (), "key": ()}, {"password": ()})
    assert findings(card, Bearer("t")) == (
        "'key' (an API key, header X-Key: ApiKey)",
        "'password' (HTTP Basic: Basic)",
    )


def test_what_is_missing_is_told_for_each_scheme() -> None:
    assert findings(card_of({"token": (), "key": ()}), []) == (
        "'token' (HTTP Bearer: Bearer, ClientCredentials or DeviceCode)"
        " and 'key' (an API key, header X-Key: ApiKey)",
    )


def test_a_scheme_that_the_card_does_not_describe_is_told() -> None:
    assert findings(card_of({"secret": ()}), Bearer("t")) == (
        "'secret' (the card does not say what it is: Custom)",
    )


async def test_credentials_may_be_given_by_the_name_of_the_scheme() -> None:
    card = card_of({"key": (), "second": ()})
    held = {"second": ApiKey("2"), "key": ApiKey("1"), "token": Bearer("t")}
    assert await attached(card, held) == Attachment(headers={"X-Key": "1"}, query={"second": "2"})
    assert findings(card, {"key": ApiKey("1")}) == ("'second' (an API key, query second: ApiKey)",)


async def test_a_function_stands_for_what_nothing_else_meets() -> None:
    custom = Custom(lambda _: {"X-Signature": "s"})
    assert await attached(card_of({"token": ()}), [custom, Bearer("t")]) == Attachment(
        headers={"Authorization": "Bearer t"}
    )
    for name in ("mtls", "unheard-of"):
        assert await attached(card_of({name: ()}), [custom, Bearer("t")]) == Attachment(
            headers={"X-Signature": "s"}
        )


async def test_credentials_are_used_though_none_are_needed() -> None:
    card = card_of({}, {"key": ()})
    assert await attached(card, ApiKey("k")) == Attachment(headers={"X-Key": "k"})
    assert choose(card, [], origin=AGENT) == Choice()


def test_a_certificate_is_part_of_the_choice() -> None:
    certificate = ClientCertificate("c.pem", "k.pem")
    choice = choose(card_of({"mtls": (), "token": ()}), [Bearer("t"), certificate], origin=AGENT)
    assert choice.certificate == certificate.bound_to(AGENT)
    assert choose(card_of({"token": ()}), Bearer("t"), origin=AGENT).certificate is None


def test_the_scopes_of_the_requirement_are_asked_for() -> None:
    card = card_of({"oauth": ("read", "write")})
    (grant,) = choose(card, ClientCredentials("me", "s"), origin=AGENT).credentials
    assert isinstance(grant, ClientCredentials)
    assert grant.scopes == ("read", "write")
    assert grant.token_url == f"{AGENT}/token"


def test_a_secret_that_the_card_would_send_elsewhere_is_told() -> None:
    card = card_of({"oauth": ()})
    (finding,) = findings(card, ClientCredentials("me", "s"), origin=OTHER, own_origin=OTHER)
    assert "the card sends clients to https://agent.example/token: give it as" in finding


# --- skills ------------------------------------------------------------------------------------


async def test_a_skill_may_require_more_than_its_card() -> None:
    card = card_of({"oauth": ("read",)}, skill=({"oauth": ("write", "read"), "key": ()},))
    held = [ClientCredentials("me", "s"), ApiKey("k")]
    assert choose(card, held, origin=AGENT).schemes == ("oauth",)
    choice = choose(card, held, origin=AGENT, skill_id="s")
    assert choice.schemes == ("oauth", "key")
    assert isinstance(choice.credentials[0], ClientCredentials)
    assert choice.credentials[0].scopes == ("read", "write")


def test_a_skill_may_require_something_where_its_card_does_not() -> None:
    card = card_of(skill=({"key": ()}, {"token": ()}))
    assert choose(card, Bearer("t"), origin=AGENT, skill_id="s").schemes == ("token",)
    assert choose(card, [], origin=AGENT, skill_id="another") == Choice()


# --- origins -----------------------------------------------------------------------------------


async def test_what_is_chosen_goes_to_that_origin_alone() -> None:
    choice = choose(card_of({"key": ()}), ApiKey("k"), origin=AGENT)
    assert await choice.attach(OTHER) == NOTHING
    assert await choice.attach("http://agent.example") == NOTHING


def test_a_card_cannot_have_credentials_sent_elsewhere() -> None:
    (finding,) = findings(card_of({"token": ()}), Bearer("t"), origin=OTHER, own_origin=AGENT)
    assert finding.endswith(
        "the Bearer is for https://agent.example:443, and requests go to https://other.example:443:"
        " give it for_origin='https://other.example:443' if it is meant for that)"
    )


async def test_the_user_can_send_them_there() -> None:
    held = [Bearer("own"), Bearer("other", for_origin=OTHER)]
    choice = choose(card_of({"token": ()}), held, origin=OTHER, own_origin=AGENT)
    assert await choice.attach(OTHER) == Attachment(headers={"Authorization": "Bearer other"})


def test_nothing_goes_where_all_can_read_it_unless_the_user_says_so() -> None:
    plain = "http://agent.example"
    card = card_of({"token": ()})
    (finding,) = findings(card, Bearer("t"), origin=plain)
    assert "would go to http://agent.example:80 for all to read" in finding
    assert choose(card, Bearer("t", for_origin=plain), origin=plain).schemes == ("token",)
    assert choose(card, Bearer("t"), origin="http://127.0.0.1:8000").schemes == ("token",)


# --- cards that ask for nothing ----------------------------------------------------------------


async def test_an_agent_that_asks_for_nothing_gets_what_there_is() -> None:
    held = [Bearer("t"), ApiKey("k", name="X-Own")]
    assert await attached(card_of(schemes={}), held) == Attachment(
        headers={"Authorization": "Bearer t", "X-Own": "k"}
    )


async def test_a_scheme_that_is_not_required_still_says_how_a_key_travels() -> None:
    assert await attached(card_of(), ApiKey("k")) == Attachment(headers={"X-Key": "k"})
    assert await attached(card_of(), {"second": ApiKey("k")}) == Attachment(query={"second": "k"})


async def test_what_is_for_another_origin_is_left_out_and_told() -> None:
    choice = choose(card_of(schemes={}), Bearer("t", for_origin=OTHER), origin=AGENT)
    assert await choice.attach(AGENT) == NOTHING
    assert choice.left_out[0].startswith("the Bearer is for https://other.example:443")


class Signer(OriginBound, frozen=True):
    """Credentials that sign bodies."""

    signs_bodies: ClassVar[bool] = True


def test_who_has_nothing_but_signatures_is_told() -> None:
    for held in (Signer(), [Signer(), Signer()], {"key": Signer()}):
        assert signs_bodies(held)
    for held in (Bearer("t"), [Signer(), Bearer("t")], []):
        assert not signs_bodies(held)
