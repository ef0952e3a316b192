import asyncio

import httpx2
import pytest
from msgspec.structs import replace

from dragoman.auth.outgoing.errors import AuthorizationServerError, TokenRefusedError
from dragoman.auth.outgoing.oauth2 import AuthorizationServer, ClientAuth, Device, DevicePrompt
from dragoman.auth.outgoing.tokens import Token
from dragoman.testing.clock import FakeClock
from tests.support.auth.answering import Answer, Answering, Asked, HurriedClock

TOKEN, DEVICE = "https://id.example/token", "https://id.example/device"
GRANTED = {"access_token": "t1", "token_type": "Bearer"}
ASKING = {
    "device_code": "d",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://id.example/go",
    "verification_uri_complete": "https://id.example/go?c=WDJB-MJHT",
    "expires_in": 1800,
    "interval": 7,
}


def server_of(
    answering: Answering,
    *,
    clock: FakeClock | None = None,
    word: str = "",
    client_auth: ClientAuth = "basic",
    scopes: tuple[str, ...] = ("read", "write"),
) -> AuthorizationServer:
    return AuthorizationServer(
        token_url=TOKEN,
        device_url=DEVICE,
        client_id="me&co",
        client_secret=word,
        client_auth=client_auth,
        scopes=scopes,
        parameters={"audience": "agent"},
        http=answering.http,
        clock=clock or FakeClock(),
    )


async def test_the_secret_of_a_client_travels_in_a_header() -> None:
    answering = Answering(GRANTED)
    await server_of(answering, word="s3/cret").client_credentials()
    form = {"grant_type": "client_credentials", "scope": "read write", "audience": "agent"}
    # me%26co:s3%2Fcret
    assert answering.asked == [Asked("POST", TOKEN, form, "Basic bWUlMjZjbzpzMyUyRmNyZXQ=")]


async def test_the_secret_may_travel_in_the_body() -> None:
    answering = Answering(GRANTED)
    await server_of(answering, word="s3", client_auth="post", scopes=()).client_credentials()
    assert answering.asked[0].authorization == ""
    assert answering.forms == [
        {
            "grant_type": "client_credentials",
            "audience": "agent",
            "client_id": "me&co",
            "client_secret": "s3",
        }
    ]


async def test_a_client_without_a_secret_says_who_it_is() -> None:
    answering = Answering(GRANTED)
    await server_of(answering).client_credentials()
    assert answering.asked[0].authorization == ""
    assert answering.forms[0]["client_id"] == "me&co"


@pytest.mark.parametrize(
    ("more", "expires_after_ms"),
    [
        ({"expires_in": 60}, 60_000),
        ({"expires_in": 1.5}, 1500),
        ({"expires_in": "60"}, 60_000),
        ({}, None),
        ({"expires_in": True}, None),
        ({"expires_in": -1}, None),
        ({"expires_in": "soon"}, None),
    ],
)
async def test_the_end_of_a_token_counts_from_when_it_was_asked_for(
    more: dict[str, object], expires_after_ms: int | None
) -> None:
    clock = FakeClock()
    token = await server_of(Answering({**GRANTED, **more}), clock=clock).client_credentials()
    now = clock.now_ms()
    assert token == Token("t1", now, expires_after_ms and now + expires_after_ms)


async def test_what_else_comes_with_a_token_is_kept() -> None:
    answer = {"access_token": "t1", "token_type": "bearer", "refresh_token": "r", "scope": "read"}
    token = await server_of(Answering(answer)).client_credentials()
    assert (token.refresh_token, token.scope) == ("r", "read")


async def test_a_token_without_a_type_is_taken_for_a_bearer_token() -> None:
    token = await server_of(Answering({"access_token": "t1", "scope": 1})).client_credentials()
    assert (token.access_token, token.scope) == ("t1", "")


NOTHING: dict[str, object] = {}


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ({"token_type": "Bearer"}, "answers without access_token"),
        ({"access_token": "", "token_type": "Bearer"}, "answers without access_token"),
        ({"access_token": "t", "token_type": "DPoP"}, "gives a token of type 'DPoP'"),
        ({"access_token": "t", "token_type": 1}, "gives a token of type 1"),
        ({"access_token": "a\r\nb"}, "no header can carry"),
        ((500, NOTHING), "answers with HTTP status 500"),
        ((302, NOTHING), "answers with HTTP status 302"),
        ((400, {"error": 1}), "answers with HTTP status 400"),
        (httpx2.Response(200, text="<html>"), "answers without access_token"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_told(answer: Answer, finding: str) -> None:
    with pytest.raises(AuthorizationServerError, match=finding):
        await server_of(Answering(answer)).client_credentials()


@pytest.mark.parametrize("status", [400, 401, 200])
async def test_a_refusal_keeps_its_code(status: int) -> None:
    body = {"error": "invalid_client", "error_description": "no\x1b[31m " + "x" * 500}
    with pytest.raises(TokenRefusedError) as caught:
        await server_of(Answering((status, body)), word="s3cret").client_credentials()
    assert caught.value.code == "invalid_client"
    # What a server says is shown on a terminal: no control characters, and not all of it.
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "s3cret" not in str(caught.value)


async def test_a_refusal_needs_no_description() -> None:
    with pytest.raises(TokenRefusedError, match=r"invalid_scope$"):
        await server_of(Answering((400, {"error": "invalid_scope"}))).client_credentials()


async def test_a_token_is_refreshed_and_its_refresh_token_stays() -> None:
    answering = Answering({**GRANTED, "access_token": "t2"})
    renewed = await server_of(answering).refresh(Token("t1", 0, 1, "r1"))
    assert (renewed.access_token, renewed.refresh_token) == ("t2", "r1")
    sent = {"grant_type": "refresh_token", "refresh_token": "r1"}
    assert sent.items() <= answering.forms[0].items()


async def test_a_new_refresh_token_replaces_the_old_one() -> None:
    answering = Answering({**GRANTED, "refresh_token": "r2"})
    renewed = await server_of(answering).refresh(Token("t1", 0, 1, "r1"))
    assert [renewed.refresh_token] == ["r2"]


async def test_a_person_is_given_an_address_and_a_code() -> None:
    answering, clock = Answering(ASKING), FakeClock()
    device = await server_of(answering, clock=clock).ask_person()
    assert device == Device(
        prompt=DevicePrompt(
            "https://id.example/go", "WDJB-MJHT", "https://id.example/go?c=WDJB-MJHT", 1800
        ),
        device_code="d",
        interval_seconds=7,
        expires_at_ms=clock.now_ms() + 1_800_000,
    )
    form = {"scope": "read write", "audience": "agent", "client_id": "me&co"}
    assert answering.asked == [Asked("POST", DEVICE, form, "")]


async def test_what_a_server_leaves_out_has_a_default() -> None:
    needed = {name: ASKING[name] for name in ("device_code", "user_code", "verification_uri")}
    device = await server_of(Answering(needed)).ask_person()
    assert device.interval_seconds == 5
    assert device.prompt.complete_url == ""
    assert device.prompt.expires_in_seconds == 600


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"user_code": ""}, "answers without user_code"),
        ({"device_code": None}, "answers without device_code"),
        ({"verification_uri": "http://id.example"}, "verification_uri that is not safe to open"),
        ({"verification_uri": "javascript:alert(1)"}, "verification_uri that is not safe to open"),
        ({"verification_uri": "https://a.example/\x1b[2J"}, "that is not safe to open"),
        ({"verification_uri_complete": "ftp://x"}, "verification_uri_complete that is not safe"),
    ],
)
async def test_a_person_is_not_sent_anywhere(change: dict[str, object], finding: str) -> None:
    with pytest.raises(AuthorizationServerError, match=finding):
        await server_of(Answering({**ASKING, **change})).ask_person()


def refusal(code: str) -> tuple[int, dict[str, str]]:
    return 400, {"error": code}


async def test_the_server_is_asked_until_the_person_has_agreed() -> None:
    clock = FakeClock()
    answering = Answering(
        ASKING,
        refusal("authorization_pending"),
        refusal("slow_down"),
        httpx2.ReadTimeout(""),
        GRANTED,
    )
    server = server_of(answering, clock=clock)
    device = await server.ask_person()
    started = clock.now_ms()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(server.wait_for_person(device))
        # 7 s as asked for, 7 s again, 12 s after slow_down, twice as long after no answer.
        for seconds in (7, 7, 12, 24):
            await clock.until_asleep()
            clock.advance(seconds - 0.001)
            await asyncio.sleep(0)
            assert clock.sleepers == 1
            clock.advance(0.001)
    assert waiting.result() == Token("t1", started + 50_000)
    assert answering.forms[-1] == {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": "d",
        "client_id": "me&co",
        "audience": "agent",
    }


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "invalid_grant"])
async def test_waiting_ends_when_the_server_says_so(code: str) -> None:
    server = server_of(Answering(ASKING, refusal(code)), clock=HurriedClock())
    device = await server.ask_person()
    with pytest.raises(TokenRefusedError) as caught:
        await server.wait_for_person(device)
    assert caught.value.code == code


async def test_waiting_ends_when_time_is_up() -> None:
    pending = [refusal("authorization_pending")] * 2
    answering = Answering({**ASKING, "expires_in": 20}, *pending)
    server = server_of(answering, clock=HurriedClock())
    device = await server.ask_person()
    with pytest.raises(TokenRefusedError, match="nobody has signed in"):
        await server.wait_for_person(device)
    assert answering.answers == []


async def test_tokens_are_given_back() -> None:
    answering = Answering(httpx2.Response(200), httpx2.Response(200))
    server = replace(server_of(answering), revocation_url="https://id.example/revoke")
    await server.revoke(Token("t1", 0, refresh_token="r1"))  # noqa: S106 - of a test
    assert answering.forms == [
        {"token": "r1", "token_type_hint": "refresh_token", "client_id": "me&co"},
        {"token": "t1", "token_type_hint": "access_token", "client_id": "me&co"},
    ]
    assert answering.asked[0].url == "https://id.example/revoke"


async def test_a_server_that_takes_none_back_says_so() -> None:
    answering = Answering((400, {"error": "unsupported_token_type"}))
    server = replace(server_of(answering), revocation_url="https://id.example/revoke")
    with pytest.raises(TokenRefusedError, match="unsupported_token_type"):
        await server.revoke(Token("t1", 0))


async def test_a_server_is_asked_what_a_token_is_worth() -> None:
    answering = Answering({"active": True, "sub": "alice"})
    server = replace(server_of(answering), introspection_url="https://id.example/introspect")
    assert await server.introspect("t1") == {"active": True, "sub": "alice"}
    assert answering.forms == [
        {"token": "t1", "token_type_hint": "access_token", "client_id": "me&co"}
    ]
    assert answering.asked[0].url == "https://id.example/introspect"


def test_the_server_is_shown_without_its_secrets() -> None:
    shown = repr(server_of(Answering(), word="s3cret"))
    assert shown == f"AuthorizationServer(token_url={TOKEN!r})"
