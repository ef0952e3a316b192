import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman import telemetry
from dragoman.cli.serving.ports import listen
from dragoman.cli.serving.webhook import served
from dragoman.clock import SystemClock
from dragoman.egress import Egress
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.push import Notification, Receiver
from dragoman.push.delivery import Deliverer, headers_of
from dragoman.push.jwt_signing import BODY_CLAIM
from dragoman.push.notification import OutgoingNotification
from dragoman.push.schedule import Answered, Forbidden, Outcome, Unanswered, Unsendable
from dragoman.push.signing_keys import SigningKeys
from tests.support.egress.hosts import NAME, Names, Script, answering, hosting, inner, trap
from tests.support.push.receiving import status
from tests.support.tracing import Traced

SECRET = "a secret that is long enough"  # noqa: S105 - of a test
LABEL = {"Content-Type": "application/a2a+json", "A2A-Version": "1.0"}
PARCEL = OutgoingNotification(id="n-1", body=status(), headers=LABEL)
NOW = 1_767_225_600_000


def webhook(
    port: int, *, token: str = "", scheme: str = "", credentials: str = ""
) -> TaskPushNotificationConfig:
    shown = AuthenticationInfo(scheme=scheme, credentials=credentials) if scheme else None
    url = f"http://{NAME}:{port}/hook"
    return TaskPushNotificationConfig(task_id="t-1", url=url, token=token, authentication=shown)


@pytest.fixture
def keys(tmp_path: Path) -> SigningKeys:
    return SigningKeys(tmp_path / "push.jwks")


@asynccontextmanager
async def sending(
    port: int, keys: SigningKeys | None = None, **changes: object
) -> AsyncGenerator[Deliverer]:
    """Open a way to a host on this machine."""
    async with Egress(inner(port, **changes), resolver=Names(hooks_test="127.0.0.1")) as egress:
        yield Deliverer(egress, clock=SystemClock(), keys=keys, issuer="https://agent.example")


# --- our own receiver takes what we send ----------------------------------------------------------


@pytest.mark.requirement("R-4.3.3-3", "R-T.str-9")
@pytest.mark.parametrize(
    ("scheme", "credentials"),
    [
        ("", ""),
        ("Bearer", "abc"),
        ("Basic", "me:pass"),
        ("basic", "bWU6cGFzcw=="),
        ("ApiKey", "k-1"),
        ("Custom", "anything"),
        ("HMAC", SECRET),
    ],
)
@pytest.mark.parametrize("is_signed", [False, True])
async def test_a_receiver_takes_what_is_sent(
    keys: SigningKeys,
    scheme: str,
    credentials: str,
    is_signed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        config = webhook(port, token="tök", scheme=scheme, credentials=credentials)  # noqa: S106 - of a test
        is_hmac = scheme == "HMAC"
        receiver = Receiver(
            token="tök",  # noqa: S106 - of a test
            authentication=None if is_hmac else config.authentication,
            hmac_secret=credentials if is_hmac else (),
            keys=keys.jwks() if is_signed else None,
            url=config.url,
            tasks={"t-1"},
        )
        async with (
            served(receiver, listener),
            sending(port, keys if is_signed else None) as deliverer,
        ):
            assert await deliverer.deliver(config, PARCEL) == Answered(status=204)
            # Another attempt is known again: at least once here is once there.
            assert await deliverer.deliver(config, PARCEL) == Answered(status=204)
        assert [got.id for got in await rest_of(receiver)] == ["n-1"]


async def rest_of(receiver: Receiver) -> list[Notification]:
    receiver.close()
    return [notification async for notification in receiver]


async def test_a_receiver_that_expects_others_refuses(keys: SigningKeys, tmp_path: Path) -> None:
    strangers = SigningKeys(tmp_path / "others.jwks")
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        config = webhook(port)
        receiver = Receiver(keys=keys.jwks(), url=config.url)
        async with served(receiver, listener):
            async with sending(port, strangers) as deliverer:
                assert await deliverer.deliver(config, PARCEL) == Answered(status=401)
            async with sending(port) as deliverer:
                assert await deliverer.deliver(config, PARCEL) == Answered(status=401)
            async with sending(port, keys) as deliverer:
                assert await deliverer.deliver(config, PARCEL) == Answered(status=204)


@pytest.mark.parametrize("keeps_old", [True, False])
async def test_keys_may_change_between_attempts(
    keys: SigningKeys,
    keeps_old: bool,  # noqa: FBT001 - a column of the table
) -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        config = webhook(port)
        keys.rotate(keeps_old=keeps_old)
        receiver = Receiver(keys=keys.jwks(), url=config.url)
        async with served(receiver, listener), sending(port, keys) as deliverer:
            assert await deliverer.deliver(config, PARCEL) == Answered(status=204)


# --- traces -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"204 No Content", {"http.response.status_code": 204}),
        (b"503 Busy", {"http.response.status_code": 503, "error.type": "503"}),
    ],
)
async def test_an_attempt_is_a_span_that_the_receiver_is_told_of(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, told: dict[str, object]
) -> None:
    traced = Traced()
    monkeypatch.setattr(telemetry, "active", traced.telemetry)
    trace = f"00-{'a' * 32}-{'b' * 16}-01 v=1"
    parcel = OutgoingNotification(id="n-1", body=status(), headers=LABEL, trace=trace)
    answers = answering(b"HTTP/1.1 %s\r\ncontent-length: 0\r\n\r\n" % answer)
    async with hosting(answers) as host, sending(host.port) as deliverer:
        await deliverer.deliver(webhook(host.port), parcel)
    span = traced.one("send notification")
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b" * 16
    head = host.heads[0].lower()
    assert f"traceparent: 00-{'a' * 32}-{span.context.span_id:016x}-01\r\n" in head
    assert "tracestate: v=1\r\n" in head
    assert span.attributes == {
        "http.request.method": "POST",
        "server.address": NAME,
        "messaging.message.id": "n-1",
        "a2a.task.id": "t-1",
        **told,
    }
    assert span.status.is_ok == ("error.type" not in told)


# --- headers --------------------------------------------------------------------------------------


@pytest.mark.requirement("R-4.3.3-2", "R-T.str-10")
def test_the_headers_of_a_plain_webhook() -> None:
    assert headers_of(webhook(80, token="t"), PARCEL, now_ms=NOW) == {  # noqa: S106 - of a test
        "Content-Type": "application/a2a+json",
        "A2A-Version": "1.0",
        "webhook-id": "n-1",
        "webhook-timestamp": "1767225600",
        "X-A2A-Notification-Token": "t",
        "A2A-Notification-Token": "t",
    }


def test_old_versions_have_their_own_label() -> None:
    label = {"Content-Type": "application/json"}
    headers = headers_of(
        webhook(80), OutgoingNotification(id="n", body=b"{}", headers=label), now_ms=NOW
    )
    assert headers["Content-Type"] == "application/json"
    assert "A2A-Version" not in headers


def test_a_jwt_stands_where_there_is_room(keys: SigningKeys) -> None:
    def shown(scheme: str, credentials: str) -> dict[str, str]:
        config = webhook(80, scheme=scheme, credentials=credentials)
        return headers_of(config, PARCEL, now_ms=NOW, key=keys.newest)

    assert shown("", "")["Authorization"].startswith("Bearer ey")
    assert shown("ApiKey", "k")["Authorization"].startswith("Bearer ey")
    both = shown("Bearer", "abc")
    assert both["Authorization"] == "Bearer abc"
    assert both["X-A2A-Notification-JWT"].startswith("ey")
    # Nothing to show is not shown.
    assert "Authorization" not in headers_of(webhook(80, scheme="Bearer"), PARCEL, now_ms=NOW)


def test_the_claims_of_a_jwt(keys: SigningKeys) -> None:
    headers = headers_of(
        webhook(80), PARCEL, now_ms=NOW, key=keys.newest, issuer="https://agent.example"
    )
    payload = headers["Authorization"].split(".")[1]
    claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=="))
    assert {name: claims[name] for name in ("iss", "aud", "jti", "taskId", "iat")} == {
        "iss": "https://agent.example",
        "aud": f"http://{NAME}:80/hook",
        "jti": "n-1",
        "taskId": "t-1",
        "iat": NOW // 1000,
    }
    assert claims["exp"] > claims["iat"]
    assert len(claims[BODY_CLAIM]) == 64


def test_the_secret_of_an_hmac_is_not_sent() -> None:
    headers = headers_of(webhook(80, scheme="HMAC", credentials=SECRET), PARCEL, now_ms=NOW)
    assert headers["webhook-signature"].startswith("v1,")
    assert not any(SECRET in value for value in headers.values())


# --- what comes of an attempt ---------------------------------------------------------------------


def canned(status_line: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status_line}", *headers, "Content-Length: 0", "", ""]).encode()


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def slow_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
    await asyncio.sleep(3600)


async def huge(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 500 No\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (answering(canned("200 OK")), Answered(status=200)),
        (answering(canned("500 No")), Answered(status=500)),
        (
            answering(canned("429 Slow", "Retry-After: 7")),
            Answered(status=429, retry_after="7"),
        ),
        (
            answering(canned("302 Away", "Location: http://127.0.0.1:1/")),
            Answered(status=302),
        ),
        (slow_body, Answered(status=200)),
        (huge, Answered(status=500)),
        (reset, None),
        (silent, None),
        (answering(b"220 smtp.example ESMTP\r\n"), None),
    ],
    ids=["ok", "500", "429", "redirect", "slow-body", "huge", "reset", "silent", "not-http"],
)
async def test_what_a_receiver_does_is_an_outcome(script: Script, wanted: Outcome | None) -> None:
    async with hosting(script) as host, sending(host.port, total_seconds=0.5) as deliverer:
        outcome = await deliverer.deliver(webhook(host.port), PARCEL)
    if wanted is None:
        assert isinstance(outcome, Unanswered)
        assert outcome.finding
    else:
        assert outcome == wanted
    assert host.bodies == [PARCEL.body]


async def test_a_receiver_that_is_down_does_not_answer() -> None:
    with trap() as host:
        port = host.port
    async with sending(port) as deliverer:
        assert isinstance(await deliverer.deliver(webhook(port), PARCEL), Unanswered)


async def test_what_must_not_be_called_is_not() -> None:
    with trap() as inside:
        async with Egress(
            inner(inside.port), resolver=Names(hooks_test="169.254.169.254")
        ) as egress:
            deliverer = Deliverer(egress, clock=SystemClock())
            outcome = await deliverer.deliver(webhook(inside.port), PARCEL)
            assert isinstance(outcome, Forbidden)
            assert outcome.is_of_address
            outcome = await deliverer.deliver(webhook(1), PARCEL)
            assert isinstance(outcome, Forbidden)
            assert not outcome.is_of_address
        assert inside.callers() == 0


@pytest.mark.parametrize(
    "config",
    [
        webhook(80, token="a\r\nX-Evil: 1"),  # noqa: S106 - of a test
        webhook(80, scheme="HMAC", credentials="short"),
        webhook(80, scheme="Bearer", credentials="日本"),
    ],
    ids=["token", "secret", "credentials"],
)
async def test_what_cannot_be_sent_is_told_and_not_sent(config: TaskPushNotificationConfig) -> None:
    with trap() as host:
        async with sending(host.port) as deliverer:
            changed = msgspec.structs.replace(config, url=f"http://{NAME}:{host.port}/")
            assert isinstance(await deliverer.deliver(changed, PARCEL), Unsendable)
        assert host.callers() == 0
