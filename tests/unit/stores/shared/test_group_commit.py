import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence

import pytest

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError
from dragoman.stores.shared.group_commit import GroupCommit

pytestmark = pytest.mark.anyio


class Engine:
    """A storage engine that can be held up, broken and repaired."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.is_broken = False
        self.defect: Exception | None = None
        self.refused: set[str] = set()
        # A commit that has begun waits for this.
        self.may_commit = threading.Event()
        self.may_commit.set()
        self.has_begun = threading.Event()
        self.has_been_probed = threading.Event()

    def commit(self, writes: Sequence[str]) -> list[StoreError | None]:
        self.has_begun.set()
        assert self.may_commit.wait(5)
        if self.defect is not None:
            raise self.defect
        if self.is_broken:
            raise StoreUnavailableError("disk full")
        self.batches.append(list(writes))
        return [ConflictError(write) if write in self.refused else None for write in writes]

    def probe(self) -> None:
        self.has_been_probed.set()
        if self.is_broken:
            raise StoreUnavailableError("disk full")


class Reports:
    """What was reported, in order; waits for a number of reports."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, StoreError | None]] = []
        self._changed = asyncio.Event()

    def hear(self, write: str, outcome: StoreError | None) -> None:
        self.heard.append((write, outcome))
        self._changed.set()

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.heard) < count:
                self._changed.clear()
                await self._changed.wait()

    @property
    def names(self) -> list[str]:
        return [write for write, _ in self.heard]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
async def commits(engine: Engine) -> AsyncIterator[GroupCommit[str]]:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    yield commits
    engine.may_commit.set()
    await commits.close()


@pytest.fixture
async def reports() -> Reports:
    return Reports()


def submit(commits: GroupCommit[str], reports: Reports, *writes: str) -> None:
    for write in writes:
        commits.submit(write, lambda outcome, write=write: reports.hear(write, outcome))


async def in_thread(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 5)


async def test_what_one_pass_of_the_loop_hands_over_is_one_batch(
    engine: Engine, commits: GroupCommit[str], reports: Reports
) -> None:
    submit(commits, reports, "a")
    await reports.wait_for(1)
    submit(commits, reports, "b", "c", "d")
    await reports.wait_for(4)
    assert engine.batches == [["a"], ["b", "c", "d"]]


async def test_what_arrives_during_a_commit_goes_into_the_next_one(
    engine: Engine, commits: GroupCommit[str], reports: Reports
) -> None:
    engine.may_commit.clear()
    submit(commits, reports, "a")
    await in_thread(engine.has_begun)
    for write in ("b", "c", "d"):
        submit(commits, reports, write)
        await asyncio.sleep(0)
    assert reports.heard == []
    engine.may_commit.set()
    await reports.wait_for(4)
    assert engine.batches == [["a"], ["b", "c", "d"]]
    assert reports.names == ["a", "b", "c", "d"]


async def test_a_batch_wakes_the_event_loop_once(
    engine: Engine,
    commits: GroupCommit[str],
    reports: Reports,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit(commits, reports, "first")
    await reports.wait_for(1)
    loop = asyncio.get_running_loop()
    wake, wakes = loop.call_soon_threadsafe, list[object]()

    def count(callback: object, *args: object, **kwargs: object) -> asyncio.Handle:
        wakes.append(callback)
        return wake(callback, *args, **kwargs)  # pyright: ignore[reportArgumentType, reportCallIssue] - passed through

    monkeypatch.setattr(loop, "call_soon_threadsafe", count)
    submit(commits, reports, *(f"w{n}" for n in range(500)))
    await reports.wait_for(501)
    assert len(engine.batches) == 2
    assert len(wakes) == 1


async def test_each_write_hears_its_own_outcome(
    engine: Engine, commits: GroupCommit[str], reports: Reports
) -> None:
    engine.refused = {"b"}
    submit(commits, reports, "a", "b", "c")
    await reports.wait_for(3)
    assert [type(outcome) for _, outcome in reports.heard] == [
        type(None),
        ConflictError,
        type(None),
    ]
    assert commits.is_available


async def test_thousands_of_writes_from_many_passes_are_reported_in_order(
    engine: Engine, commits: GroupCommit[str], reports: Reports
) -> None:
    names = [str(number) for number in range(5000)]
    for number, name in enumerate(names):
        submit(commits, reports, name)
        if number % 7 == 0:
            await asyncio.sleep(0)
    await reports.wait_for(5000)
    assert reports.names == names
    assert [write for batch in engine.batches for write in batch] == names


async def test_a_failing_report_does_not_silence_the_others(
    commits: GroupCommit[str], reports: Reports
) -> None:
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))

    def fail(_: StoreError | None) -> None:
        raise RuntimeError("caller")

    commits.submit("a", fail)
    submit(commits, reports, "b")
    await reports.wait_for(1)
    assert [str(problem["exception"]) for problem in problems] == ["caller"]


async def test_when_the_engine_fails_the_whole_batch_is_told(
    engine: Engine, commits: GroupCommit[str], reports: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    engine.is_broken = True
    submit(commits, reports, "a", "b")
    await reports.wait_for(2)
    assert all(isinstance(outcome, StoreUnavailableError) for _, outcome in reports.heard)
    assert not commits.is_available
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage() for record in errors] == [
        "store test: the storage engine failed (disk full); 2 writes are refused; "
        "probing until it works"
    ]
    engine.is_broken = False


async def test_writes_wait_while_the_engine_is_down_and_are_committed_after(
    engine: Engine, commits: GroupCommit[str], reports: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    engine.is_broken = True
    submit(commits, reports, "lost")
    await reports.wait_for(1)
    submit(commits, reports, "a", "b")
    await in_thread(engine.has_been_probed)
    assert reports.names == ["lost"]
    engine.is_broken = False
    await reports.wait_for(3)
    assert reports.heard[1:] == [("a", None), ("b", None)]
    assert engine.batches == [["a", "b"]]
    assert commits.is_available
    assert caplog.records[-1].getMessage() == "store test: the storage engine works again"


@pytest.fixture
async def choosy(engine: Engine) -> AsyncIterator[GroupCommit[str]]:
    """Commits of which those that end in ``!`` are urgent."""
    commits = GroupCommit[str](
        "store test",
        commit=engine.commit,
        probe=engine.probe,
        is_urgent=lambda write: write.endswith("!"),
    )
    commits.start()
    yield commits
    engine.is_broken = False
    engine.may_commit.set()
    await commits.close()


async def test_an_urgent_write_is_refused_at_once_while_the_engine_is_down(
    engine: Engine, choosy: GroupCommit[str], reports: Reports
) -> None:
    engine.is_broken = True
    submit(choosy, reports, "lost")
    await reports.wait_for(1)
    submit(choosy, reports, "patient", "urgent!")
    assert reports.names == ["lost"]  # Never before ``submit`` has returned.
    await reports.wait_for(2)
    assert reports.names == ["lost", "urgent!"]
    assert str(reports.heard[1][1]) == "store test is down"
    engine.is_broken = False
    await reports.wait_for(3)
    assert reports.heard[2] == ("patient", None)
    assert engine.batches == [["patient"]]


async def test_urgent_writes_that_came_before_the_failure_was_known_are_refused_too(
    engine: Engine, choosy: GroupCommit[str], reports: Reports
) -> None:
    engine.is_broken = True
    engine.may_commit.clear()
    submit(choosy, reports, "lost")
    await in_thread(engine.has_begun)
    submit(choosy, reports, "a", "one!", "b", "two!", "c")
    engine.may_commit.set()
    await reports.wait_for(3)
    assert reports.names == ["lost", "one!", "two!"]
    assert all(isinstance(outcome, StoreUnavailableError) for _, outcome in reports.heard)
    engine.is_broken = False
    await reports.wait_for(6)
    # In the order they were handed over.
    assert engine.batches == [["a", "b", "c"]]


async def test_while_the_engine_works_an_urgent_write_is_like_any_other(
    engine: Engine, choosy: GroupCommit[str], reports: Reports
) -> None:
    submit(choosy, reports, "a", "b!", "c")
    await reports.wait_for(3)
    assert reports.heard == [("a", None), ("b!", None), ("c", None)]
    assert engine.batches == [["a", "b!", "c"]]


async def test_a_defect_in_the_engine_fails_the_batch_and_the_thread_goes_on(
    engine: Engine, commits: GroupCommit[str], reports: Reports
) -> None:
    engine.defect = ZeroDivisionError()
    submit(commits, reports, "a")
    await reports.wait_for(1)
    assert isinstance(reports.heard[0][1], StoreUnavailableError)
    engine.defect = None
    submit(commits, reports, "b")
    await reports.wait_for(2)
    assert reports.heard[1] == ("b", None)


async def test_closing_commits_what_waits(engine: Engine, reports: Reports) -> None:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    engine.may_commit.clear()
    submit(commits, reports, "a")
    await in_thread(engine.has_begun)
    submit(commits, reports, "b", "c")
    threading.Timer(0.05, engine.may_commit.set).start()
    await commits.close()
    assert reports.heard == [("a", None), ("b", None), ("c", None)]


async def test_closing_while_down_does_not_wait_for_ever(engine: Engine, reports: Reports) -> None:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    engine.is_broken = True
    submit(commits, reports, "a")
    await reports.wait_for(1)
    submit(commits, reports, "b")
    async with asyncio.timeout(5):
        await commits.close()
    assert [type(outcome) for _, outcome in reports.heard] == [StoreUnavailableError] * 2


async def test_closing_while_down_says_nothing_of_writes_where_none_wait(
    engine: Engine, reports: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    engine.is_broken = True
    submit(commits, reports, "a")
    await reports.wait_for(1)
    await commits.close()
    assert "are lost" not in caplog.text


async def test_closing_while_down_probes_once_more(engine: Engine, reports: Reports) -> None:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    engine.is_broken = True
    submit(commits, reports, "a")
    await reports.wait_for(1)
    submit(commits, reports, "b")
    engine.is_broken = False
    await commits.close()
    assert reports.heard[1] == ("b", None)


async def test_a_closed_writer_refuses_writes(engine: Engine, reports: Reports) -> None:
    commits = GroupCommit[str]("store test", commit=engine.commit, probe=engine.probe)
    commits.start()
    await commits.close()
    await commits.close()
    submit(commits, reports, "late")
    await reports.wait_for(1)
    assert isinstance(reports.heard[0][1], StoreUnavailableError)
