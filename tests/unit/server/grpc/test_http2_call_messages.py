import asyncio

import pytest

from dragoman.server.grpc.http2_call import RequestMessages


async def test_messages_come_in_order_and_then_they_end() -> None:
    requests = RequestMessages(lambda _: None)
    requests.put([b"one", b"two"], 10, ends=False)
    requests.put([b"three"], 5, ends=True)
    assert [message async for message in requests] == [b"one", b"two", b"three"]


async def test_more_is_granted_only_when_all_is_taken() -> None:
    granted: list[int] = []
    requests = RequestMessages(granted.append)
    requests.put([b"one", b"two"], 10, ends=False)
    assert [await anext(requests), await anext(requests)] == [b"one", b"two"]
    assert granted == []
    waiting = asyncio.ensure_future(anext(requests))
    await asyncio.sleep(0)
    assert granted == [10]
    # A piece of a message is no message.
    requests.put([], 3, ends=False)
    await asyncio.sleep(0)
    assert not waiting.done()
    requests.put([b"three"], 4, ends=False)
    assert await waiting == b"three"


async def test_whoever_waits_is_told_of_the_end() -> None:
    requests = RequestMessages(lambda _: None)
    waiting = asyncio.ensure_future(anext(requests))
    await asyncio.sleep(0)
    requests.put([], 0, ends=True)
    with pytest.raises(StopAsyncIteration):
        await waiting
