"""What PostgreSQL adds to the contract of the bus: restarts, and one connection for all of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.bus.base import TaskMoved, WorkReleased
from dragoman.bus.postgres import CHANNEL, PostgresBus
from tests.contracts.hearing import Ear, hear_of, tell_until
from tests.durability.waiting import find, until
from tests.support.postgres import database_for, postgres_server


@asynccontextmanager
async def two(url: str) -> AsyncGenerator[tuple[Ear, Ear]]:
    a, b = (Ear(PostgresBus(url), f"replica-{name}") for name in "ab")
    await a.open()
    await b.open()
    try:
        yield a, b
    finally:
        await a.bus.close()
        await b.bus.close()


async def sql(statement: str, url: str) -> str:
    return await asyncio.to_thread(postgres_server().run_sql, statement, url.rpartition("/")[2])


CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE application_name = 'dragoman bus' AND datname = current_database()"
)


async def test_a_replica_has_one_connection_whatever_it_follows(tmp_path: Path) -> None:
    url = database_for(tmp_path)
    async with two(url) as (a, b):
        for number in range(100):
            b.follow(f"t{number}")
        await hear_of(a, b, "t99")
        assert await sql(CONNECTIONS, url) == "2"

    async def is_gone() -> bool | None:
        return await sql(CONNECTIONS, url) == "0" or None

    await find(is_gone)


async def test_more_than_fits_one_notification_is_heard(tmp_path: Path) -> None:
    async with two(database_for(tmp_path)) as (a, b):
        ids = [f"0190a000-0000-7000-8000-{number:012d}" for number in range(500)]
        for task_id in ids:
            b.follow(task_id)
        for task_id in ids:
            a.bus.publish(TaskMoved(task_id, 3))
        await until(lambda: {move.task_id for move in b.moves} == set(ids))


async def test_notifications_of_somebody_else_are_passed_over(tmp_path: Path) -> None:
    url = database_for(tmp_path)
    async with two(url) as (a, b):
        await sql(f"SELECT pg_notify('{CHANNEL}', 'something else')", url)
        await tell_until(a, WorkReleased(), lambda: bool(b.hints))
        assert set(b.hints) == {WorkReleased()}
        assert b.gaps == 0


async def test_a_backend_that_is_ended_is_a_gap(tmp_path: Path) -> None:
    url = database_for(tmp_path)
    async with two(url) as (a, b):
        b.follow("t1")
        await hear_of(a, b, "t1")
        await sql(CONNECTIONS.replace("count(*)", "pg_terminate_backend(pid)"), url)
        await until(lambda: a.gaps == b.gaps == 1)
        await tell_until(a, TaskMoved("t1", 2), lambda: b.latest("t1") == 2)


@pytest.mark.crash
@pytest.mark.timeout(60)
async def test_a_restart_of_the_server_is_a_gap(tmp_path: Path) -> None:
    server = postgres_server()
    async with two(database_for(tmp_path)) as (a, b):
        b.follow("t1")
        await hear_of(a, b, "t1")
        await asyncio.to_thread(server.stop, immediately=True)
        await until(lambda: not (a.bus.is_connected or b.bus.is_connected))
        a.bus.publish(TaskMoved("t1", 5))
        await asyncio.to_thread(server.start)
        await until(lambda: a.gaps == b.gaps == 1)
        await tell_until(a, TaskMoved("t1", 6), lambda: b.latest("t1") == 6)


async def test_a_password_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bus = PostgresBus("postgres://user:s3cret@127.0.0.1:1/db")
    await bus.open("a", on_hint=lambda _: None, on_reconnect=lambda: None)
    await bus.close()
    assert "no connection" in caplog.text
    assert "s3cret" not in caplog.text
