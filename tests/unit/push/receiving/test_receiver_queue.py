import asyncio

import pytest

from dragoman.push.receiving.receiver import NotificationQueue


async def everything(inbox: NotificationQueue[int]) -> list[int]:
    return [item async for item in inbox]


async def test_items_are_handed_out_in_their_order() -> None:
    inbox = NotificationQueue[int](3)
    assert [inbox.offer(item) for item in (1, 2, 3)] == [True, True, True]
    inbox.close()
    assert await everything(inbox) == [1, 2, 3]


async def test_there_is_room_for_so_many() -> None:
    inbox = NotificationQueue[int](1)
    assert inbox.offer(1)
    assert not inbox.offer(2)
    assert await anext(inbox) == 1
    assert inbox.offer(3)


async def test_a_closed_inbox_takes_nothing() -> None:
    inbox = NotificationQueue[int](1)
    assert not inbox.is_closed
    inbox.close()
    assert inbox.is_closed
    assert not inbox.offer(1)
    with pytest.raises(StopAsyncIteration):
        await anext(inbox)


async def test_all_who_wait_are_served_or_told_of_the_end() -> None:
    inbox = NotificationQueue[int](5)
    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(everything(inbox)) for _ in range(3)]
        await asyncio.sleep(0)
        for item in range(5):
            inbox.offer(item)
            await asyncio.sleep(0)
        inbox.close()
    assert sorted(item for reader in readers for item in reader.result()) == [0, 1, 2, 3, 4]
