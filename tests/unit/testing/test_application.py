import asyncio

import httpx2
import pytest

from dragoman import UsageError
from dragoman.bindings.sse import HEARTBEAT
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.application import application
from dragoman.testing.asgi_transport import AsgiTransport
from dragoman.testing.clock import FakeClock
from tests.support.testing.house import Gate, tea_house


def test_the_clock_is_the_one_that_is_given() -> None:
    clock = FakeClock()
    assert application(tea_house(), clock=clock, settings={}).runtime.clock is clock


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_MAX_PARTS", "no number")
    application(tea_house(), settings={})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"max_parts": 0}, "max_parts"), ({"verison": "0.3"}, "no setting called 'verison'")],
)
def test_a_wrong_setting_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        application(tea_house(), settings=settings)


async def test_a_store_that_is_given_is_used() -> None:
    class Watched(MemoryTaskStore):
        is_opened = False

        async def open(self) -> None:
            self.is_opened = True
            await super().open()

    store = Watched()
    app = application(tea_house(), store=store, settings={})
    await app.runtime.start()
    await app.runtime.stop()
    assert store.is_opened


async def test_heartbeats_come_when_the_clock_is_moved() -> None:
    gate, clock = Gate(), FakeClock()
    settings = {"heartbeat_seconds": 15, "chunk_hold_seconds": 0}
    app = application(tea_house(gate), clock=clock, settings=settings)
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "mint"}]}
    body = {"message": {**message, "metadata": {"skillId": "slow"}}}
    async with (
        asyncio.timeout(10),
        httpx2.AsyncClient(transport=AsgiTransport(app)) as client,
        client.stream("POST", "http://a.localhost/message:stream", json=body) as answer,
    ):
        chunks = answer.aiter_raw()
        while b"mint one" not in await anext(chunks):
            pass
        # The heartbeats and the housekeeping of the server.
        await clock.until_asleep(2)
        clock.advance(15)
        assert await anext(chunks) == HEARTBEAT
    await app.runtime.stop()


async def test_work_that_is_left_behind_is_not_waited_for() -> None:
    gate = Gate()
    app = application(tea_house(gate), settings={})
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "mint"}]}
    body = {
        "message": {**message, "metadata": {"skillId": "slow"}},
        "configuration": {"returnImmediately": True},
    }
    async with httpx2.AsyncClient(transport=AsgiTransport(app)) as client:
        await client.post("http://a.localhost/message:send", json=body)
    await gate.reached.wait()
    # The gate stays closed: whoever waited for the work would wait forever.
    await app.runtime.stop()
    assert gate.is_left
