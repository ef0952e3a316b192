"""A secret answer outlives the process that has taken it, and nothing else does of it."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from dragoman import connect
from dragoman.client.discovery.card_cache import CardCache
from tests.support.serving import AgentProcess

AGENT: Final = Path(__file__).with_name("secret_agent.py")
SECRET: Final = "-".join(("open", "sesame", "4711"))

pytestmark = [pytest.mark.crash, pytest.mark.timeout(90)]


def contents(directory: Path) -> bytes:
    """Return all that is in the files of a store."""
    return b"".join(each.read_bytes() for each in directory.iterdir())


async def test_a_secret_outlives_a_kill(tmp_path: Path) -> None:
    database = tmp_path / "tasks.db"
    store = f"sqlite:///{database}"
    process = AgentProcess(AGENT, "--store", store, "--log-level", "debug")
    await asyncio.to_thread(process.start)
    try:
        async with connect(process.url, cards=CardCache()) as client:
            asked = await client.send("go")
            again = await asked.answer(SECRET)
            assert again.text == "Go on with go?"
        await asyncio.to_thread(process.kill)
        # As the kill has left it: the database, and the log beside it that nobody has folded in.
        left = contents(tmp_path)
        assert SECRET.encode() not in left
        assert b"[not shown]" in left
        await asyncio.to_thread(process.start)
        async with connect(process.url, cards=CardCache()) as client:
            done = await client.task(again.task_id, again.context_id).send("yes")
        assert done.text == hashlib.sha256(SECRET.encode()).hexdigest()
    finally:
        await asyncio.to_thread(process.kill)
    assert SECRET not in "".join(process.output)
    assert SECRET.encode() not in contents(tmp_path)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM secrets").fetchone() == (0,)
