"""RemoteBus over lines that fail as a test says. What real ones do is shown by the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from dragoman.bus.base import Hint, TaskMoved, WorkReleased
from dragoman.bus.outgoing import Hints
from dragoman.bus.remote import RemoteBus
from tests.durability.waiting import until


class FakeLine:
    def __init__(self, lost: Callable[[], None]) -> None:
        self.lost = lost
        self.sent: list[Hints] = []
        self.followed: list[str] = []
        self.probes = 0
        self.failure: Exception | None = None
        self.is_silent = False
        self.is_closed = False

    async def follow(self, task_id: str) -> None:
        await self._answer()
        self.followed.append(task_id)

    async def unfollow(self, task_id: str) -> None:
        await self._answer()
        self.followed.remove(task_id)

    async def send(self, hints: Hints) -> None:
        await self._answer()
        self.sent.append(hints)

    async def probe(self) -> None:
        self.probes += 1
        await self._answer()

    async def close(self) -> None:
        self.is_closed = True

    async def _answer(self) -> None:
        await asyncio.sleep(0)
        if self.is_silent:
            await asyncio.Event().wait()
        if self.failure is not None:
            raise self.failure


class Server:
    """Makes lines; refuses while ``refusal`` is set, and the next ``frail`` ones fail at once."""

    def __init__(self) -> None:
        self.lines: list[FakeLine] = []
        self.attempts = 0
        self.refusal: Exception | None = None
        self.frail = 0
        self.gaps = 0

    async def connect(
        self, _replica_id: str, _hear: Callable[[Hint], None], lost: Callable[[], None]
    ) -> FakeLine:
        self.attempts += 1
        if self.refusal is not None:
            raise self.refusal
        self.lines.append(FakeLine(lost))
        if self.frail:
            self.frail -= 1
            self.line.failure = BrokenPipeError("at once")
        return self.lines[-1]

    @property
    def line(self) -> FakeLine:
        return self.lines[-1]

    def note_gap(self) -> None:
        self.gaps += 1


@asynccontextmanager
async def opened(server: Server, **seconds: float) -> AsyncGenerator[RemoteBus]:
    bus = RemoteBus("bus", server.connect, **seconds)
    await bus.open("a", on_hint=lambda _: None, on_reconnect=server.note_gap)
    try:
        yield bus
    finally:
        await bus.close()


async def test_what_is_published_in_one_pass_goes_out_together() -> None:
    server = Server()
    async with opened(server) as bus:
        for seq in range(100):
            bus.publish(TaskMoved("t1", seq))
        bus.publish(WorkReleased())
        await until(lambda: bool(server.line.sent))
    assert server.line.sent == [Hints(moved={"t1": 99}, is_released=True)]
    assert server.line.is_closed


async def test_who_left_before_the_line_knew_is_not_asked_for() -> None:
    server = Server()
    async with opened(server) as bus:
        bus.follow("t1", lambda _: None)
        leave = bus.follow("t2", lambda _: None)
        await until(lambda: set(server.line.followed) == {"t1", "t2"})
        leave()
        await until(lambda: server.line.followed == ["t1"])


async def test_a_line_that_fails_is_replaced() -> None:
    server = Server()
    async with opened(server) as bus:
        bus.follow("t1", lambda _: None)
        await until(lambda: server.line.followed == ["t1"])
        first = server.line
        first.failure = ConnectionResetError("gone")
        bus.publish(WorkReleased())
        await until(lambda: server.gaps == 1)
        assert first.is_closed
        assert server.line is not first
        assert server.line.followed == ["t1"]
        assert bus.is_connected


async def test_a_line_that_reports_its_loss_is_replaced() -> None:
    server = Server()
    async with opened(server):
        first = server.line
        first.lost()
        await until(lambda: server.gaps == 1)
        assert first.is_closed


async def test_why_there_is_no_connection_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.refusal = ConnectionRefusedError("nobody there")
    async with opened(server) as bus:
        await until(lambda: server.attempts > 3)
        assert caplog.text.count("nobody there") == 1
        server.refusal = ConnectionRefusedError("full\nDETAIL:  of replicas")
        await until(lambda: "full DETAIL: of replicas; trying" in caplog.text)
        server.refusal = None
        await until(lambda: bus.is_connected)
        server.refusal = ConnectionRefusedError("full")
        server.line.lost()
        # It is news again.
        await until(lambda: caplog.text.count("full") == 2)


async def test_a_line_that_fails_at_once_is_no_connection() -> None:
    server = Server()
    async with opened(server) as bus:
        bus.follow("t1", lambda _: None)
        await until(lambda: server.line.followed == ["t1"])
        server.frail = 2
        server.line.lost()
        await until(lambda: server.gaps == 1)
        assert len(server.lines) == 4
        assert [line.is_closed for line in server.lines] == [True, True, True, False]


async def test_an_idle_line_has_to_answer() -> None:
    server = Server()
    async with opened(server, probe_seconds=0.01, answer_seconds=0.05):
        await until(lambda: server.line.probes > 2)
        first = server.line
        first.is_silent = True
        await until(lambda: server.gaps == 1)
        assert first.is_closed


async def test_a_busy_line_has_to_answer_too() -> None:
    server = Server()
    async with opened(server, probe_seconds=0.02) as bus:
        seq = 0
        async with asyncio.timeout(5):
            while server.line.probes < 3:
                seq += 1
                bus.publish(TaskMoved("t1", seq))
                await asyncio.sleep(0.001)
        assert len(server.line.sent) > 3


async def test_a_defect_costs_the_connection_and_not_the_bus(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    async with opened(server) as bus:
        server.line.failure = KeyError("a defect")
        bus.publish(WorkReleased())
        await until(lambda: server.gaps == 1)
        assert bus.is_connected
    assert "a defect" in caplog.text


async def test_a_server_that_is_away_is_tried_again() -> None:
    server = Server()
    server.refusal = ConnectionRefusedError("nobody there")
    async with opened(server) as bus:
        assert not bus.is_connected
        bus.publish(WorkReleased())
        await until(lambda: server.attempts >= 3)
        server.refusal = None
        await until(lambda: server.gaps == 1)
        assert bus.is_connected
        # What was said during the outage is dropped, not kept for later.
        bus.publish(TaskMoved("t1", 1))
        await until(lambda: bool(server.line.sent))
        assert server.line.sent == [Hints(moved={"t1": 1})]


async def test_a_silent_line_does_not_hold_up_closing() -> None:
    server = Server()
    async with opened(server, answer_seconds=60) as bus:
        server.line.is_silent = True
        bus.publish(WorkReleased())
    assert server.line.is_closed
    assert not bus.is_connected
