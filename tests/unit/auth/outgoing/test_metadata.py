import httpx2
import pytest

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.metadata import Endpoints, discover, read_metadata
from tests.support.auth.answering import Answering

ISSUER = "https://id.example/realms/a"
TOKEN, DEVICE = "https://id.example/token", "https://id.example/device"
METADATA = {
    "issuer": ISSUER,
    "token_endpoint": TOKEN,
    "device_authorization_endpoint": DEVICE,
}


async def test_an_issuer_of_openid_connect_is_looked_up_below_its_path() -> None:
    server = Answering(METADATA)
    assert await discover(server.http, ISSUER) == Endpoints(TOKEN, DEVICE)
    assert [asked.url for asked in server.asked] == [f"{ISSUER}/.well-known/openid-configuration"]


async def test_an_issuer_of_oauth_is_looked_up_before_its_path() -> None:
    server = Answering((404, {}), METADATA)
    assert await discover(server.http, f"{ISSUER}/") == Endpoints(TOKEN, DEVICE)
    assert server.asked[1].url == (
        "https://id.example/.well-known/oauth-authorization-server/realms/a"
    )


async def test_an_issuer_with_no_metadata_is_told_with_both_reasons() -> None:
    server = Answering((404, {}), httpx2.ConnectError("refused"))
    with pytest.raises(AuthorizationServerError) as caught:
        await discover(server.http, ISSUER)
    assert "HTTP status 404" in str(caught.value)
    assert "no answer: refused" in str(caught.value)


async def test_metadata_of_another_issuer_is_refused() -> None:
    server = Answering({**METADATA, "issuer": "https://evil.example"}, {"token_endpoint": TOKEN})
    with pytest.raises(AuthorizationServerError, match=r"about the issuer 'https://evil\.example'"):
        await discover(server.http, ISSUER)


async def test_a_document_is_read_where_it_is_said_to_be() -> None:
    server = Answering({"token_endpoint": TOKEN})
    assert await read_metadata(server.http, "https://id.example/m") == Endpoints(TOKEN)
    assert server.asked[0].url == "https://id.example/m"


@pytest.mark.parametrize(
    ("document", "finding"),
    [
        ({}, "names no token_endpoint"),
        ({"token_endpoint": 1}, "names a token_endpoint that is not safe to use"),
        ({"token_endpoint": "http://id.example"}, "names a token_endpoint that is not safe to use"),
        ({"token_endpoint": "javascript:"}, "names a token_endpoint that is not safe to use"),
        (
            {"token_endpoint": TOKEN, "device_authorization_endpoint": "http://id.example"},
            "names a device_authorization_endpoint that is not safe to use",
        ),
    ],
)
async def test_endpoints_that_cannot_be_used_are_refused(
    document: dict[str, object], finding: str
) -> None:
    server = Answering(document)
    with pytest.raises(AuthorizationServerError, match=finding):
        await read_metadata(server.http, "https://id.example/m")


async def test_where_tokens_are_given_back_is_read_too() -> None:
    server = Answering({**METADATA, "revocation_endpoint": "https://id.example/revoke"})
    found = await discover(server.http, ISSUER)
    assert found == Endpoints(TOKEN, DEVICE, "https://id.example/revoke")


async def test_the_place_of_the_keys_is_read_and_must_be_safe() -> None:
    keys = "https://id.example/jwks"
    server = Answering({**METADATA, "jwks_uri": keys}, {**METADATA, "jwks_uri": "http://x.example"})
    assert (await discover(server.http, ISSUER)).keys_url == keys
    with pytest.raises(AuthorizationServerError, match="jwks_uri that is not safe"):
        await read_metadata(server.http, "https://id.example/m")
