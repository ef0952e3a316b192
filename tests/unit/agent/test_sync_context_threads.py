import asyncio
import contextvars
import logging
import threading
from collections.abc import Generator
from contextlib import aclosing

import pytest

from dragoman.agent.sync_context import ThreadCalls, Threads
from dragoman.service.worker import Suspended

request_id = contextvars.ContextVar("request_id", default="none")


async def test_a_function_runs_in_another_thread_with_its_result() -> None:
    threads = Threads(1)
    assert await threads.run(threading.get_ident, (), None) != threading.get_ident()
    threads.shutdown()


async def test_context_variables_go_along() -> None:
    threads = Threads(1)
    request_id.set("r-1")
    assert await threads.run(request_id.get, (), None) == "r-1"
    threads.shutdown()


async def test_an_exception_comes_back() -> None:
    def fail() -> None:
        raise KeyError("x")

    threads = Threads(1)
    with pytest.raises(KeyError):
        await threads.run(fail, (), None)
    threads.shutdown()


async def test_a_stop_iteration_does_not_hang_the_caller() -> None:
    def fail() -> None:
        raise StopIteration

    threads = Threads(1)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await threads.run(fail, (), None)
    threads.shutdown()


async def test_a_thread_calls_into_the_turn() -> None:
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    threads, calls = Threads(1), ThreadCalls()
    assert await threads.run(lambda: calls.call(lambda: double(21)), (), calls) == 42
    threads.shutdown()


async def test_a_call_runs_in_the_task_of_the_turn() -> None:
    async def current() -> object:
        return asyncio.current_task()

    threads, calls = Threads(1), ThreadCalls()
    task = await threads.run(lambda: calls.call(current), (), calls)
    assert task is asyncio.current_task()
    threads.shutdown()


async def test_what_a_call_raises_is_raised_in_the_thread() -> None:
    async def fail() -> None:
        raise KeyError("x")

    def work() -> str:
        with pytest.raises(KeyError):
            calls.call(fail)
        return "caught"

    threads, calls = Threads(1), ThreadCalls()
    assert await threads.run(work, (), calls) == "caught"
    threads.shutdown()


async def test_canceling_the_turn_ends_the_call_and_every_later_one() -> None:
    asked, ended = asyncio.Event(), threading.Event()
    caught: list[BaseException] = []

    async def wait_forever() -> None:
        asked.set()
        await asyncio.Event().wait()

    def work() -> None:
        for _ in range(2):
            try:
                calls.call(wait_forever)
            except asyncio.CancelledError as error:
                caught.append(error)
        ended.set()

    threads, calls = Threads(1), ThreadCalls()
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(threads.run(work, (), calls))
        await asked.wait()
        turn.cancel()
    await asyncio.to_thread(ended.wait, 5)
    assert len(caught) == 2
    threads.shutdown()


async def test_a_call_after_the_work_is_done_is_refused() -> None:
    async def nothing() -> None: ...

    threads, calls = Threads(1), ThreadCalls()
    await threads.run(lambda: None, (), calls)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.to_thread(calls.call, nothing)
    threads.shutdown()


async def test_a_generator_is_driven_item_by_item() -> None:
    steps: list[str] = []

    def items() -> Generator[int, None, None]:
        for n in range(3):
            steps.append(f"made {n}")
            yield n

    threads = Threads(1)
    async for n in threads.iterate(items(), None):
        steps += [f"took {n}"]
    assert steps == ["made 0", "took 0", "made 1", "took 1", "made 2", "took 2"]
    threads.shutdown()


async def test_what_a_generator_raises_comes_back() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        raise KeyError("x")

    threads = Threads(1)
    chunks = threads.iterate(items(), None)
    assert await anext(chunks) == 1
    with pytest.raises(KeyError):
        await anext(chunks)
    threads.shutdown()


async def test_a_generator_left_early_is_closed_in_a_thread() -> None:
    closed_in: list[int] = []
    closed = threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            closed_in.append(threading.get_ident())
            closed.set()

    threads = Threads(1)
    async with aclosing(threads.iterate(items(), None)) as chunks:
        async for _ in chunks:
            break
    await asyncio.to_thread(closed.wait, 5)
    assert closed_in != [threading.get_ident()]
    threads.shutdown()


async def test_a_generator_canceled_while_it_runs_is_closed_when_it_pauses() -> None:
    started, go_on, closed = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def items() -> Generator[int, None, None]:
        try:
            loop.call_soon_threadsafe(started.set)
            go_on.wait(5)
            yield 1
        finally:
            closed.set()

    async def drive() -> None:
        async with aclosing(threads.iterate(items(), None)) as chunks:
            async for _ in chunks:
                raise AssertionError("a late item is dropped")

    threads = Threads(2)
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(drive())
        await started.wait()
        turn.cancel()
    assert not closed.is_set()
    go_on.set()
    assert await asyncio.to_thread(closed.wait, 5)
    threads.shutdown()


async def test_a_failure_while_closing_is_logged() -> None:
    logged = threading.Event()
    lines: list[str] = []

    class Notice(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
            logged.set()

    def items() -> Generator[int, None, None]:
        try:
            yield 1
        finally:
            raise KeyError("x")

    notice = Notice()
    logging.getLogger("dragoman.agent.sync_context").addHandler(notice)
    threads = Threads(1)
    async with aclosing(threads.iterate(items(), None)) as chunks:
        async for _ in chunks:
            break
    assert await asyncio.to_thread(logged.wait, 5)
    logging.getLogger("dragoman.agent.sync_context").removeHandler(notice)
    assert lines == ["a plain generator failed while it was closed"]
    threads.shutdown()


async def test_threads_start_again_after_a_shutdown() -> None:
    threads = Threads(1)
    threads.shutdown()
    assert await threads.run(lambda: 1, (), None) == 1
    threads.shutdown()
    assert await threads.run(lambda: 2, (), None) == 2
    threads.shutdown()


async def test_a_turn_that_is_put_aside_leaves_its_thread_too() -> None:
    heard: list[str] = []
    done = threading.Event()

    async def ask() -> None:
        raise Suspended

    def work() -> None:
        for _ in range(2):
            try:
                calls.call(ask)
            except BaseException as error:  # noqa: BLE001 - what it hears is the point
                heard.append(type(error).__name__)
        done.set()

    threads, calls = Threads(1), ThreadCalls()
    with pytest.raises(Suspended):
        await threads.run(work, (), calls)
    assert await asyncio.to_thread(done.wait, 5)
    assert heard == ["Suspended", "CancelledError"]
    threads.shutdown()
