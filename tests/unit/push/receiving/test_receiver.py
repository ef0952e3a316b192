import asyncio
from collections.abc import Mapping, MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from dragoman.errors import UnavailableError, UsageError
from dragoman.model.push import AuthenticationInfo
from dragoman.model.tasks import TaskState
from dragoman.push import Notification, Receiver
from dragoman.push.headers import credential_headers
from dragoman.push.hmac_signing import hmac_headers
from dragoman.testing.clock import FakeClock
from tests.support.push.receiving import TEXT, TOKEN, URL, Sender, served_app, serving, status

BEARER = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
LONG = "a secret that is long enough"
DONE = status()
NOTHING: Mapping[str, str] = {}


async def post(
    http: httpx2.AsyncClient, headers: Mapping[str, str] = NOTHING, *, body: bytes = DONE
) -> httpx2.Response:
    """Deliver a notification, with the token."""
    shown = {"Content-Type": "application/a2a+json", **TOKEN, **headers}
    return await http.post("/", content=body, headers=shown)


def named(name: str) -> dict[str, str]:
    return {"webhook-id": name}


def detail(response: httpx2.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    return problem["detail"]


async def rest_of(receiver: Receiver) -> list[Notification]:
    """Return what waits."""
    receiver.close()
    return [notification async for notification in receiver]


# --- what is taken --------------------------------------------------------------------------------


@pytest.mark.requirement("R-4.3.3-4")
async def test_a_notification_is_acknowledged_and_handed_out() -> None:
    receiver = Receiver(token=TEXT)
    async with serving(receiver) as http:
        response = await post(http, named("n-1"))
        assert (response.status_code, response.content) == (204, b"")
        notification = await anext(aiter(receiver))
    assert (notification.task_id, notification.context_id) == ("t-1", "c-1")
    assert notification.state is TaskState.COMPLETED
    assert (notification.version, notification.id) == ("1.0", "n-1")


async def test_bodies_of_all_versions_are_read_in_the_order_in_which_they_come() -> None:
    receiver = Receiver(token=TEXT)
    old = {"id": "t-3", "contextId": "c", "status": {"state": "working"}, "kind": "task"}
    oldest = {"id": "t-1", "sessionId": "s", "status": {"state": "submitted"}}
    async with serving(receiver) as http:
        for body in (status(), msgspec.json.encode(old), msgspec.json.encode(oldest)):
            response = await post(http, {"Content-Type": "application/json"}, body=body)
            assert response.status_code == 204
        found = await rest_of(receiver)
    assert [each.version for each in found] == ["1.0", "0.3", "0.1"]
    assert [each.task_id for each in found] == ["t-1", "t-3", "t-1"]


async def test_the_agent_is_told_when_the_function_has_returned() -> None:
    taken: list[str] = []
    may_return, is_busy = asyncio.Event(), asyncio.Event()

    async def take(notification: Notification) -> None:
        is_busy.set()
        await may_return.wait()
        taken.append(notification.id)

    async with serving(Receiver(take, token=TEXT)) as http, asyncio.TaskGroup() as group:
        first = group.create_task(post(http, named("n-1")))
        await is_busy.wait()
        # The same again while the first is not done: neither taken twice nor promised.
        again = await post(http, named("n-1"))
        assert not first.done()
        assert (again.status_code, taken) == (503, [])
        may_return.set()
        assert (await first).status_code == 204
        assert (await post(http, named("n-1"))).status_code == 204
    assert taken == ["n-1"]


async def test_what_the_function_did_not_take_may_come_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken: list[str] = []
    failures: list[Exception] = [UnavailableError("later", retry_after_seconds=7), OSError("disk")]

    async def take(notification: Notification) -> None:
        if failures:
            raise failures.pop(0)
        taken.append(notification.id)

    async with serving(Receiver(take, token=TEXT)) as http:
        later = await post(http, named("n-1"))
        assert (later.status_code, later.headers["retry-after"]) == (503, "7")
        broken = await post(http, named("n-1"))
        assert broken.status_code == 500
        # What has happened here is no business of the agent.
        assert detail(broken) == "The notification was not taken"
        assert (await post(http, named("n-1"))).status_code == 204
    assert taken == ["n-1"]
    assert "OSError: disk" in caplog.text


async def test_a_receiver_with_a_function_is_not_iterated_over() -> None:
    async def take(_: Notification) -> None: ...

    with pytest.raises(UsageError, match="on_notification"):
        aiter(Receiver(take, token=TEXT))


# --- backpressure ---------------------------------------------------------------------------------


async def test_a_full_receiver_says_so_and_loses_nothing() -> None:
    receiver = Receiver(token=TEXT, max_waiting=2)
    async with serving(receiver) as http:
        codes = [(await post(http, named(f"n-{n}"))).status_code for n in range(3)]
        assert codes == [204, 204, 503]
        full = await post(http, named("n-2"))
        assert full.headers["retry-after"] == "1"
        assert (await anext(aiter(receiver))).id == "n-0"
        # Refused before, so this is no repetition.
        assert (await post(http, named("n-2"))).status_code == 204
        assert [each.id for each in await rest_of(receiver)] == ["n-1", "n-2"]
        assert (await post(http, named("n-3"))).status_code == 503


async def test_no_more_are_worked_on_than_may_be() -> None:
    may_return, is_busy = asyncio.Event(), asyncio.Event()

    async def take(_: Notification) -> None:
        is_busy.set()
        await may_return.wait()

    receiver = Receiver(take, token=TEXT, max_waiting=1)
    async with serving(receiver) as http, asyncio.TaskGroup() as group:
        first = group.create_task(post(http, named("n-1")))
        await is_busy.wait()
        assert (await post(http, named("n-2"))).status_code == 503
        may_return.set()
        assert (await first).status_code == 204
        assert (await post(http, named("n-2"))).status_code == 204
        receiver.close()
        assert (await post(http, named("n-3"))).status_code == 503


# --- once -----------------------------------------------------------------------------------------


@pytest.mark.requirement("R-4.3.3-5")
async def test_a_retry_is_acknowledged_and_not_handed_out_twice() -> None:
    receiver = Receiver(token=TEXT)
    async with serving(receiver) as http:
        for _ in range(3):
            assert (await post(http, named("n-1"))).status_code == 204
        assert len(await rest_of(receiver)) == 1


@pytest.mark.requirement("R-4.3.3-5")
async def test_without_a_name_the_same_news_of_the_same_moment_is_taken_once() -> None:
    receiver = Receiver(token=TEXT)
    timeless = status("WORKING", at=None)
    chunk = {"taskId": "t", "contextId": "c", "append": True}
    more = {**chunk, "artifact": {"artifactId": "a", "parts": [{"text": "."}]}}
    async with serving(receiver) as http:
        for body in (status(), timeless, msgspec.json.encode({"artifactUpdate": more})):
            for _ in range(2):
                assert (await post(http, body=body)).status_code == 204
        found = await rest_of(receiver)
    # Two dots are two dots, and who works, waits and works again says the same twice.
    assert [each.state for each in found] == [
        TaskState.COMPLETED,
        *[TaskState.WORKING] * 2,
        *[None] * 2,
    ]


@pytest.mark.requirement("R-T.str-12")
async def test_a_name_that_stands_for_another_body_is_refused() -> None:
    async with serving(Receiver(token=TEXT)) as http:
        assert (await post(http, named("n-1"))).status_code == 204
        forged = await post(http, named("n-1"), body=status("FAILED"))
        assert forged.status_code == 403
        assert "was used for another notification" in detail(forged)


# --- who is calling -------------------------------------------------------------------------------


@pytest.mark.requirement("R-13.2-9")
async def test_who_does_not_show_the_token_is_refused() -> None:
    receiver = Receiver(token=(TEXT, "older"))
    async with serving(receiver) as http:
        for token in ("", "wrong"):
            response = await post(http, {"X-A2A-Notification-Token": token})
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert detail(response) == ("The token in X-A2A-Notification-Token is missing or wrong")
        assert (await post(http, {"X-A2A-Notification-Token": "older"})).status_code == 204
        assert len(await rest_of(receiver)) == 1


async def test_credentials_are_those_of_the_registration() -> None:
    async with serving(Receiver(token=TEXT, authentication=BEARER)) as http:
        refused = await post(http)
        assert (refused.status_code, "Bearer" in detail(refused)) == (401, True)
        assert (await post(http, credential_headers(BEARER))).status_code == 204


async def test_an_hmac_proves_body_and_id() -> None:
    clock = FakeClock()
    receiver = Receiver(hmac_secret=LONG, clock=clock)
    signed = hmac_headers(
        (LONG.encode(),), notification_id="n-1", now_ms=clock.now_ms(), body=status()
    )
    async with serving(receiver) as http:
        assert (await post(http, signed, body=status("FAILED"))).status_code == 401
        assert (await post(http, signed)).status_code == 204
        clock.advance(302)
        assert (await post(http, signed)).status_code == 401
        assert [each.id for each in await rest_of(receiver)] == ["n-1"]


@pytest.mark.requirement("R-T.str-9", "R-T.str-11", "R-T.str-12")
async def test_a_jwt_proves_who_has_sent_what_to_whom() -> None:
    clock, sender = FakeClock(), Sender()
    receiver = Receiver(keys=sender.jwks, url=URL, clock=clock)

    def shown(name: str = "n-1", **changes: str) -> dict[str, str]:
        token = sender.jwt(DONE, now_ms=clock.now_ms(), name=name, **changes)
        return {"Authorization": f"Bearer {token}"}

    async with serving(receiver) as http:

        async def code(headers: Mapping[str, str] = NOTHING, body: bytes = DONE) -> int:
            return (await post(http, headers, body=body)).status_code

        first = shown()
        assert await code(first) == 204
        # A retry, signed anew or as it was, is taken once.
        assert await code(first) == 204
        assert await code(shown()) == 204
        # The same proof for another notification.
        assert await code({**first, **named("n-2")}) == 403
        assert await code(shown("n-3"), status("FAILED")) == 403
        assert await code(shown("n-4", url="https://other.example")) == 403
        assert await code(shown("n-5", task_id="t-2")) == 403
        old = shown("n-6")
        clock.advance(151)
        assert await code(old) == 401
        assert await code({"Authorization": "Bearer opaque"}) == 401
        assert await code() == 401
        found = await rest_of(receiver)
    # Without a header that names it, it goes by the name of its JWT.
    assert [each.id for each in found] == ["n-1"]


async def test_keys_may_change_while_the_receiver_runs() -> None:
    clock, sender, later = FakeClock(), Sender("spring"), Sender("summer")
    answers = iter([(200, sender.jwks), (503, NOTHING), (200, later.jwks)])
    async with served_app(lambda: next(answers)) as jwks:
        receiver = Receiver(jwks=jwks, url=URL, clock=clock)
        async with serving(receiver) as http:

            async def code(by: Sender, name: str) -> tuple[int, str | None]:
                token = by.jwt(status(), now_ms=clock.now_ms(), name=name)
                response = await post(http, {"X-A2A-Notification-JWT": token})
                return response.status_code, response.headers.get("retry-after")

            assert await code(sender, "n-1") == (204, None)
            assert await code(later, "n-2") == (401, None)
            clock.advance(10)
            # That the keys cannot be had is not the fault of the sender.
            assert await code(later, "n-2") == (503, "10")
            clock.advance(10)
            assert await code(later, "n-2") == (204, None)
            assert await code(sender, "n-3") == (401, None)
            assert [each.id for each in await rest_of(receiver)] == ["n-1", "n-2"]


async def test_agents_of_the_0_1_reference_can_be_believed(tmp_path: Path) -> None:
    clock, key = FakeClock(), RSAKey.generate_key(2048)
    keys = tmp_path / "jwks.json"
    keys.write_bytes(msgspec.json.encode({"keys": [{**key.as_dict(private=False), "kid": "r"}]}))
    compact = b'{"id":"t-1","sessionId":"s","status":{"state":"completed"}}'
    claims = {
        "iat": clock.now_ms() // 1000,
        "request_body_sha256": sha256(compact).hexdigest(),
    }
    token = jwt.encode({"alg": "RS256", "kid": "r"}, claims, key, algorithms=["RS256"])
    receiver = Receiver(keys=keys, required_claims=("request_body_sha256",), clock=clock)
    async with serving(receiver) as http:
        body = compact.replace(b":", b": ")
        label = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        assert (await post(http, label, body=body)).status_code == 204
        assert (await post(http, label, body=body.replace(b"t-1", b"t-2"))).status_code == 403
        clock.advance(331)
        assert (await post(http, label, body=body)).status_code == 401
        assert [each.task_id for each in await rest_of(receiver)] == ["t-1"]


@pytest.mark.requirement("R-4.3.3-6")
async def test_a_task_that_is_not_expected_is_refused() -> None:
    tasks = {"t-1"}
    async with serving(Receiver(token=TEXT, tasks=tasks)) as http:
        assert (await post(http)).status_code == 204
        unknown = await post(http, body=status(task_id="t-2"))
        assert (unknown.status_code, detail(unknown)) == (404, "Task not found")
        tasks.add("t-2")
        assert (await post(http, body=status(task_id="t-2"))).status_code == 204


# --- what is no notification ----------------------------------------------------------------------


async def test_a_body_that_is_none_is_told_by_its_field() -> None:
    async with serving(Receiver(token=TEXT)) as http:
        wrong = await post(http, body=b'{"statusUpdate":{"taskId":"t-1"}}')
        assert (wrong.status_code, "status is required" in detail(wrong)) == (400, True)
        assert (await post(http, body=b"")).status_code == 400
        assert (await post(http, body=b"[" * 100_000)).status_code == 400
        long = await post(http, named("n" * 257))
        assert (long.status_code, "webhook-id" in detail(long)) == (400, True)


async def test_a_body_has_its_bounds_and_its_type() -> None:
    async with serving(Receiver(token=TEXT, max_body_bytes=len(status()))) as http:
        assert (await post(http)).status_code == 204
        large = await post(http, body=DONE + b" ")
        assert (large.status_code, large.headers["connection"]) == (413, "close")
        text = await post(http, {"Content-Type": "text/plain"})
        assert text.status_code == 415
        assert "application/a2a+json" in detail(text)
        # The connection is as good as new.
        assert (await post(http)).status_code == 204


async def test_only_post_brings_notifications() -> None:
    async with serving(Receiver(token=TEXT)) as http:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            response = await http.request(method, "/", headers=TOKEN)
            assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_who_asks_whether_notifications_are_wanted_is_told() -> None:
    async with serving(Receiver(token=TEXT)) as http:
        response = await http.get("/?validationToken=2f%201%C3%A4")
        assert (response.status_code, response.text) == (200, "2f 1ä")
        assert response.headers["content-type"].startswith("text/plain")
        assert response.headers["x-content-type-options"] == "nosniff"
        for bad in ("a%0D%0Ab", "x" * 513):
            assert (await http.get(f"/?validationToken={bad}")).status_code == 400


async def test_a_sender_that_leaves_halfway_leaves_nothing_behind() -> None:
    receiver = Receiver(token=TEXT)
    headers = [(name.lower().encode(), value.encode()) for name, value in TOKEN.items()]
    messages = iter(
        [
            {"type": "http.request", "body": DONE, "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: MutableMapping[str, Any]) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    await receiver(scope, receive, send)
    assert await rest_of(receiver) == []


async def test_a_websocket_is_closed() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await Receiver(token=TEXT)({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1003}]


# --- options --------------------------------------------------------------------------------------


async def test_a_receiver_that_believes_everybody_must_be_told_to() -> None:
    with pytest.raises(UsageError, match="believes everybody"):
        Receiver()
    async with serving(Receiver(allow_anonymous=True)) as http:
        assert (await http.post("/", content=status())).status_code == 204


def test_options_that_make_no_sense_are_told() -> None:
    with pytest.raises(UsageError, match="url is missing"):
        Receiver(keys=Sender().jwks)
    with pytest.raises(UsageError, match="algorithms must be among"):
        Receiver(keys=Sender().jwks, url=URL, algorithms=("none",))
    with pytest.raises(UsageError, match="required_claims must be among aud, exp"):
        Receiver(keys=Sender().jwks, url=URL, required_claims=("audience",))
    with pytest.raises(UsageError, match="credentials must not be empty"):
        Receiver(authentication=AuthenticationInfo(scheme="Bearer"))
    with pytest.raises(UsageError, match="token must not be empty"):
        Receiver(token=(TEXT, ""))
    with pytest.raises(UsageError, match="at least 24 bytes"):
        Receiver(hmac_secret=TEXT)


async def test_the_end_of_the_server_is_the_end_of_the_receiver() -> None:
    receiver = Receiver(token=TEXT)
    async with serving(receiver) as http:
        assert (await post(http)).status_code == 204
    assert len([notification async for notification in receiver]) == 1
