import json
from collections.abc import Mapping

import pytest

from dragoman.auth.outgoing.metadata import Endpoints
from dragoman.cli.session.authorities import Authority, Wish, find_authority
from dragoman.dialects.v1_0.card import decode_card
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard
from tests.cli.fake import card
from tests.support.auth.answering import Answering

AGENT = "https://a.example:443"
TOKEN, DEVICE = "https://id.example/token", "https://id.example/device"
METADATA = {
    "issuer": "https://id.example",
    "token_endpoint": TOKEN,
    "device_authorization_endpoint": DEVICE,
}
FOUND = Endpoints(TOKEN, DEVICE)


def oauth2(flow: str, *, home: str = "https://id.example", **members: str) -> dict[str, object]:
    urls = {"tokenUrl": f"{home}/token", "deviceAuthorizationUrl": f"{home}/device"}
    if flow == "clientCredentials":
        del urls["deviceAuthorizationUrl"]
    if flow == "authorizationCode":
        urls = {"tokenUrl": TOKEN, "authorizationUrl": f"{home}/authorize"}
    flows: dict[str, object] = {flow: {**urls, "scopes": {}}}
    return {"oauth2SecurityScheme": {"flows": flows, **members}}


OPENID: Mapping[str, object] = {
    "openIdConnectSecurityScheme": {
        "openIdConnectUrl": "https://id.example/.well-known/openid-configuration"
    }
}
BEARER: Mapping[str, object] = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}


def asking(scopes: list[str] | None = None, **schemes: Mapping[str, object]) -> AgentCard:
    required = [{"schemes": {list(schemes)[-1]: {"list": scopes or []}}}]
    members = card("https://a.example", securitySchemes=schemes, securityRequirements=required)
    return decode_card(json.dumps(members).encode())


async def find(found: AgentCard | None, wish: Wish, *answers: Mapping[str, object]) -> Authority:
    return await find_authority(found, wish, agent=AGENT, http=Answering(*answers).http)


async def test_the_card_names_the_flow_and_its_endpoints() -> None:
    found = await find(asking(["read"], main=oauth2("deviceCode")), Wish())
    assert found == Authority(
        name=TOKEN, endpoints=FOUND, flow="device-code", scheme="main", scopes=("read",)
    )


async def test_what_is_required_comes_before_what_is_merely_described() -> None:
    found = await find(asking(first=OPENID, second=oauth2("deviceCode")), Wish())
    assert found.scheme == "second"
    wished = await find(
        asking(first=OPENID, second=oauth2("deviceCode")), Wish(scheme="first"), METADATA
    )
    assert (wished.scheme, wished.name) == ("first", "https://id.example")


async def test_openid_connect_is_looked_up() -> None:
    found = await find(asking(main=OPENID), Wish(), METADATA)
    assert (found.flow, found.endpoints) == ("device-code", FOUND)
    assert found.scopes == ("openid",)


async def test_a_secret_chooses_the_flow_that_the_card_leaves_open() -> None:
    wish = Wish(has_secret=True, issuer="https://id.example")
    assert (await find(asking(main=OPENID), wish, METADATA)).flow == "client-credentials"
    # But one that the card names stays.
    assert (await find(asking(main=oauth2("deviceCode")), wish, METADATA)).flow == "device-code"


async def test_a_flow_that_we_do_not_have_is_begun_as_the_metadata_say() -> None:
    scheme = oauth2("authorizationCode", oauth2MetadataUrl="https://id.example/metadata")
    assert (await find(asking(main=scheme), Wish(), METADATA)).endpoints == FOUND


async def test_what_the_user_names_is_stronger() -> None:
    wish = Wish(token_url="https://mine.example/token", scopes=("write",), flow="device-code")  # noqa: S106 - no secret
    with pytest.raises(UsageError, match="--device-authorization-url"):
        await find(asking(main=oauth2("deviceCode")), wish)
    whole = Wish(
        token_url="https://mine.example/token",  # noqa: S106 - no secret
        device_url="https://mine.example/device",
        scopes=("write",),
    )
    found = await find(asking(["read"], main=oauth2("deviceCode")), whole)
    assert found.endpoints == Endpoints("https://mine.example/token", "https://mine.example/device")
    assert found.scopes == ("write",)


async def test_a_token_may_be_for_an_agent_that_says_nothing() -> None:
    wish = Wish(issuer="https://id.example")
    for nothing in (None, asking(main=BEARER)):
        assert (await find(nothing, wish, METADATA)).scheme == ""


@pytest.mark.parametrize("home", ["https://id.example", "https://a.example"])
async def test_a_secret_goes_where_the_card_says_only_at_its_own_origin(home: str) -> None:
    found = asking(main=oauth2("clientCredentials", home=home))
    if home == "https://a.example":
        assert (await find(found, Wish(has_secret=True))).name == "https://a.example/token"
    else:
        with pytest.raises(UsageError, match="would have the secret of your client sent to"):
            await find(found, Wish(has_secret=True))


@pytest.mark.parametrize(
    ("found", "wish", "finding"),
    [
        (asking(main=BEARER), Wish(), "has no scheme of OAuth 2.0 or OpenID Connect"),
        (asking(main=OPENID), Wish(scheme="none"), "the card has no such scheme, but main"),
        (
            asking(main=oauth2("authorizationCode")),
            Wish(),
            "does not say where the flow device-code begins",
        ),
        (
            asking(main=oauth2("deviceCode")),
            Wish(flow="client-credentials"),
            "does not say where the flow client-credentials begins",
        ),
    ],
)
async def test_what_is_not_enough_is_told(found: AgentCard, wish: Wish, finding: str) -> None:
    with pytest.raises(UsageError, match=finding):
        await find(found, wish)
