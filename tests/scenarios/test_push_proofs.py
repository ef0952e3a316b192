"""How a receiver knows that a notification is the agent's: every proof, from end to end.

The server signs, publishes its keys and sends; our receiver fetches the keys and believes nothing
else. What was overheard on the way is worth nothing to whoever has overheard it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dragoman.cli.serving.ports import listen
from dragoman.cli.serving.webhook import served as serving_app
from dragoman.model.push import AuthenticationInfo
from dragoman.push import Notification, Receiver
from dragoman.push.headers import AUTHORIZATION, JWT_HEADER
from dragoman.push.receiving.exchange import ASGIApp, Receive, Scope, Send
from dragoman.push.signing_keys import SigningKeys
from dragoman.server.webhooks.keys import KEYS_SUFFIX
from tests.durability.waiting import until
from tests.scenarios.agents import make_agent
from tests.scenarios.webhooks import INNER
from tests.support.serving import Served, serving
from tests.support.wire import Json, Wire, message

TOKEN: Final = "a token"  # noqa: S105 - of a test
SECRET: Final = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"  # noqa: S105 - of a test
JWKS: Final = "/.well-known/jwks.json"


class Overheard:
    """Passes requests on to a receiver, and keeps them."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None

        async def listening() -> Any:
            event = await receive()
            if scope["type"] == "http" and event["type"] == "http.request":
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                self.requests.append((headers, event.get("body", b"")))
            return event

        async def watching(event: Any) -> None:
            if event["type"] == "http.response.start":
                self.statuses.append(event["status"])
            await send(event)

        await self.app(scope, listening, watching)


class Webhook:
    """A receiver at work: where it is, what it has taken, and what was overheard."""

    def __init__(self, url: str, receiver: Receiver, overheard: Overheard) -> None:
        self.url = url
        self._receiver = receiver
        self._overheard = overheard

    @property
    def requests(self) -> list[tuple[dict[str, str], bytes]]:
        return self._overheard.requests

    @property
    def statuses(self) -> list[int]:
        return self._overheard.statuses

    async def until_end(self) -> list[Notification]:
        """Return all that it takes until a task has ended."""
        taken: list[Notification] = []
        async with asyncio.timeout(10):
            async for notification in self._receiver:
                taken.append(notification)
                if notification.state is not None and notification.state.is_terminal:
                    break
        return taken

    async def replay(self, headers: dict[str, str], body: bytes) -> int:
        """Send what was overheard, and return the status of the answer."""
        async with httpx2.AsyncClient(trust_env=False) as thief:
            return (await thief.post(self.url, headers=headers, content=body)).status_code


@asynccontextmanager
async def receiving(agent: Served, **asked: Any) -> AsyncGenerator[Webhook]:
    """Serve a receiver that knows the agent by its keys, and asks for more."""
    overheard = Overheard()
    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
        receiver = Receiver(jwks=f"{agent.url}{JWKS}", url=url, **asked)
        overheard.app = receiver
        async with serving_app(overheard, listener):
            yield Webhook(url, receiver, overheard)


async def tell(agent: Served, webhook: Webhook, **members: Any) -> None:
    """Have something done of which the webhook is told."""
    hook = {"url": webhook.url, **members}
    async with Wire(agent.url) as wire:
        await wire.result(
            "SendMessage",
            {"message": message(), "configuration": {"taskPushNotificationConfig": hook}},
        )


PROOFS: Final[dict[str, tuple[Json, Json]]] = {
    # What the webhook is registered with, and what its receiver asks for beside the JWT.
    "nothing": ({}, {}),
    "token": ({"token": TOKEN}, {"token": TOKEN}),
    **{
        scheme: (
            {"authentication": {"scheme": scheme, "credentials": credentials}},
            {"authentication": AuthenticationInfo(scheme=scheme, credentials=credentials)},
        )
        for scheme, credentials in (("Bearer", "abc"), ("Basic", "me:pass"), ("ApiKey", "k-1"))
    },
    "HMAC": (
        {"authentication": {"scheme": "HMAC", "credentials": SECRET}},
        {"hmac_secret": SECRET},
    ),
}


@pytest.mark.requirement("R-4.3.3-3", "R-4.3.3-5", "R-T.str-9", "R-T.str-12")
@pytest.mark.parametrize("proof", PROOFS)
async def test_a_receiver_believes_the_agent_and_no_one_who_has_overheard_it(proof: str) -> None:
    registered, asked = PROOFS[proof]
    async with serving(make_agent(), **INNER) as agent, receiving(agent, **asked) as webhook:
        await tell(agent, webhook, **registered)
        taken = await webhook.until_end()
        assert [each.state.name for each in taken if each.state] == [
            "SUBMITTED",
            "WORKING",
            "COMPLETED",
        ]
        headers, body = webhook.requests[0]
        # The same again is acknowledged, and not taken for news.
        assert await webhook.replay(headers, body) == 204
        # A proof is none of another body, nor without the JWT, nor under another name.
        assert await webhook.replay(headers, body.replace(b"SUBMITTED", b"CANCELED ")) in (401, 403)
        place = JWT_HEADER if JWT_HEADER.lower() in headers else AUTHORIZATION
        without = {name: value for name, value in headers.items() if name != place.lower()}
        assert await webhook.replay(without, body) == 401
        assert await webhook.replay({**headers, "webhook-id": "another"}, body) in (401, 403)


async def test_a_receiver_of_another_address_does_not_believe_it() -> None:
    async with (
        serving(make_agent(), **INNER) as agent,
        receiving(agent) as webhook,
        receiving(agent) as other,
    ):
        await tell(agent, webhook)
        await webhook.until_end()
        headers, body = webhook.requests[0]
        assert await other.replay(headers, body) == 403


async def test_keys_change_while_the_server_runs(tmp_path: Path) -> None:
    # A receiver that has just looked for keys does not look again for a while.
    database = tmp_path / "tasks.db"
    async with (
        serving(make_agent(), store=f"sqlite:///{database}", **INNER) as agent,
        receiving(agent) as webhook,
        Wire(agent.url) as wire,
    ):
        await tell(agent, webhook)
        await webhook.until_end()
        headers, body = webhook.requests[0]
        operator = SigningKeys(Path(f"{database}{KEYS_SUFFIX}"))
        operator.rotate()
        await tell(agent, webhook)
        assert len(await webhook.until_end()) == 3
        assert not [status for status in webhook.statuses if status != 204]
        published = [key["kid"] for key in (await wire.http.get(JWKS)).json()["keys"]]
        assert published[0] == operator.newest.kid
        assert len(published) == 2
        # What the key before has signed is still good, for as long as it would have been.
        assert await webhook.replay(headers, body) == 204


async def test_without_signing_there_is_no_jwt_and_there_are_no_keys() -> None:
    async with (
        serving(make_agent(), push_signing="none", **INNER) as agent,
        receiving(agent) as webhook,
        Wire(agent.url) as wire,
    ):
        assert (await wire.http.get(JWKS)).status_code == 404
        await tell(agent, webhook)
        await until(lambda: bool(webhook.requests))
        headers, _ = webhook.requests[0]
        assert {AUTHORIZATION.lower(), JWT_HEADER.lower()}.isdisjoint(headers)


# --- the challenge ------------------------------------------------------------------------------


@pytest.mark.requirement("R-T.str-7")
async def test_a_webhook_that_wants_to_be_told_is_asked_first() -> None:
    async with (
        serving(make_agent(), push_challenge=True, **INNER) as agent,
        receiving(agent) as webhook,
    ):
        await tell(agent, webhook)
        assert await webhook.until_end()


@pytest.mark.requirement("R-T.str-7")
async def test_a_webhook_that_does_not_answer_is_not_registered_and_told_nothing() -> None:
    asked: list[str] = []

    async def stranger(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (event := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{event}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        asked.append(scope["method"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"welcome"})

    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with (
            serving_app(stranger, listener),
            serving(make_agent(), push_challenge=True, **INNER) as agent,
            Wire(agent.url) as wire,
        ):
            task = await wire.send()
            error = await wire.error(
                "CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": url}
            )
            assert error["code"] == -32602
            assert "validationToken" in error["message"]
            page = await wire.result("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
            assert page.get("configs", []) == []
    assert asked == ["GET"]
