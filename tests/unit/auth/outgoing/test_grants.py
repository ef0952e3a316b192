import asyncio

import pytest

from dragoman.auth.outgoing.credentials import Attachment
from dragoman.auth.outgoing.errors import (
    AuthorizationServerError,
    CredentialsError,
    TokenRefusedError,
)
from dragoman.auth.outgoing.grants import ClientCredentials, DeviceCode, Grant
from dragoman.auth.outgoing.oauth2 import AuthorizationServer, DevicePrompt
from dragoman.auth.outgoing.tokens import TokenKeeper
from dragoman.testing.clock import FakeClock
from tests.support.auth.answering import Answering, HurriedClock

AGENT, OTHER = "https://agent.example", "https://other.example"
ISSUER, TOKEN, DEVICE = (
    "https://id.example",
    "https://id.example/token",
    "https://id.example/device",
)
METADATA = {
    "issuer": ISSUER,
    "token_endpoint": TOKEN,
    "device_authorization_endpoint": DEVICE,
}
ASKING = {"device_code": "d", "user_code": "u", "verification_uri": "https://id.example/go"}
SECRET = "s3cret"  # noqa: S105 - for a server that does not exist


def granted(token: str, refresh: str = "", *, seconds: int = 3600) -> dict[str, object]:
    more = {"refresh_token": refresh} if refresh else {}
    return {"access_token": token, "token_type": "Bearer", "expires_in": seconds, **more}


def bearer(token: str) -> Attachment:
    return Attachment(headers={"Authorization": f"Bearer {token}"})


async def test_a_client_gets_its_token_once() -> None:
    server = Answering(granted("t1"))
    grant = ClientCredentials(
        "me", SECRET, token_url=TOKEN, scopes=("read",), http=server.http, for_origin=AGENT
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(grant.attach(AGENT)) for _ in range(5)]
    assert [task.result() for task in tasks] == [bearer("t1")] * 5
    assert [asked.url for asked in server.asked] == [TOKEN]
    assert server.forms == [{"grant_type": "client_credentials", "scope": "read"}]


async def test_no_token_is_asked_for_on_behalf_of_another_origin() -> None:
    server = Answering()
    grant = ClientCredentials("me", SECRET, token_url=TOKEN, http=server.http)
    assert await grant.attach(AGENT) == Attachment()
    assert await grant.bound_to(AGENT).attach(OTHER) == Attachment()
    assert server.asked == []


async def test_a_token_is_renewed_when_it_ends_and_when_it_is_refused() -> None:
    server, clock = Answering(granted("t1"), granted("t2"), granted("t3")), FakeClock()
    grant = ClientCredentials(
        "me", SECRET, token_url=TOKEN, http=server.http, clock=clock, for_origin=AGENT
    )
    assert await grant.attach(AGENT) == bearer("t1")
    clock.advance(3600)
    assert await grant.attach(AGENT) == bearer("t2")
    clock.advance(10)
    assert await grant.attach(AGENT, is_retry=True) == bearer("t3")
    assert await grant.attach(AGENT) == bearer("t3")


async def test_a_refresh_token_is_used_before_anything_else() -> None:
    server = Answering(
        granted("t1", "r1"), granted("t2"), (400, {"error": "invalid_grant"}), granted("t3")
    )
    clock = FakeClock()
    grant = ClientCredentials(
        "me", SECRET, token_url=TOKEN, http=server.http, clock=clock, for_origin=AGENT
    )
    for token in ("t1", "t2", "t3"):
        assert await grant.attach(AGENT) == bearer(token)
        clock.advance(3600)
    kinds = [form["grant_type"] for form in server.forms]
    assert kinds == ["client_credentials", "refresh_token", "refresh_token", "client_credentials"]


async def test_the_endpoints_of_an_issuer_are_looked_up() -> None:
    server = Answering(METADATA, granted("t1"))
    grant = ClientCredentials("me", SECRET, issuer=ISSUER, http=server.http, for_origin=AGENT)
    assert await grant.attach(AGENT) == bearer("t1")
    assert [asked.url for asked in server.asked] == [
        f"{ISSUER}/.well-known/openid-configuration",
        TOKEN,
    ]


async def test_endpoints_may_be_looked_up_elsewhere() -> None:
    server = Answering(METADATA, granted("t1"))
    grant = ClientCredentials(
        "me", SECRET, metadata_url=f"{ISSUER}/m", http=server.http, for_origin=AGENT
    )
    assert await grant.attach(AGENT) == bearer("t1")


async def test_a_document_that_sends_a_secret_elsewhere_is_not_followed() -> None:
    server = Answering({**METADATA, "token_endpoint": "https://evil.example/token"})
    grant = ClientCredentials(
        "me", SECRET, metadata_url=f"{ISSUER}/m", http=server.http, for_origin=AGENT
    )
    with pytest.raises(AuthorizationServerError, match=r"sends clients to https://evil\.example"):
        await grant.attach(AGENT)
    assert len(server.asked) == 1


async def test_somebody_has_to_say_who_issues_tokens() -> None:
    with pytest.raises(CredentialsError, match="give token_url or issuer"):
        await ClientCredentials("me", SECRET, for_origin=AGENT).attach(AGENT)


async def test_a_refusal_comes_through_and_is_not_remembered() -> None:
    server = Answering((401, {"error": "invalid_client"}), granted("t1"))
    grant = ClientCredentials("me", SECRET, token_url=TOKEN, http=server.http, for_origin=AGENT)
    with pytest.raises(TokenRefusedError, match="invalid_client"):
        await grant.attach(AGENT)
    assert await grant.attach(AGENT) == bearer("t1")


async def test_tokens_are_shared_by_those_who_are_the_same_client() -> None:
    server, keeper = Answering(granted("t1")), TokenKeeper()
    one, other = (
        ClientCredentials("me", SECRET, token_url=TOKEN, http=server.http, tokens=keeper)
        for _ in range(2)
    )
    assert await one.bound_to(AGENT).attach(AGENT) == bearer("t1")
    assert await other.bound_to(OTHER).attach(OTHER) == bearer("t1")


async def test_a_person_is_asked_and_waited_for() -> None:
    server = Answering(
        ASKING, (400, {"error": "authorization_pending"}), granted("t1", "r1"), granted("t2")
    )
    clock, shown = HurriedClock(), list[DevicePrompt]()
    grant = DeviceCode(
        "me",
        shown.append,
        token_url=TOKEN,
        device_url=DEVICE,
        http=server.http,
        clock=clock,
        for_origin=AGENT,
    )
    assert await grant.attach(AGENT) == bearer("t1")
    assert [(prompt.url, prompt.user_code) for prompt in shown] == [("https://id.example/go", "u")]
    clock.advance(3600)
    assert await grant.attach(AGENT) == bearer("t2")
    assert len(shown) == 1


async def test_showing_may_take_its_time() -> None:
    shown: list[str] = []

    async def show(prompt: DevicePrompt) -> None:
        await asyncio.sleep(0)
        shown.append(prompt.user_code)

    server = Answering(METADATA, ASKING, granted("t1"))
    grant = DeviceCode(
        "me", show, issuer=ISSUER, http=server.http, clock=HurriedClock(), for_origin=AGENT
    )
    assert await grant.attach(AGENT) == bearer("t1")
    assert shown == ["u"]


async def test_a_server_without_a_device_flow_is_told() -> None:
    grant = DeviceCode("me", print, token_url=TOKEN, for_origin=AGENT)
    with pytest.raises(AuthorizationServerError, match="has no device flow"):
        await grant.attach(AGENT)


def test_what_a_grant_must_say_is_not_guessed() -> None:
    with pytest.raises(NotImplementedError):
        Grant().client()
    server = AuthorizationServer(token_url=TOKEN, client_id="me", clock=FakeClock())
    with pytest.raises(NotImplementedError):
        Grant().obtain(server).send(None)


def test_the_secret_is_not_shown() -> None:
    shown = repr(ClientCredentials("me", SECRET, for_origin=AGENT))
    assert shown == "ClientCredentials(for_origin='https://agent.example:443')"
