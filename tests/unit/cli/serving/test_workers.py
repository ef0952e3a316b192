"""Workers as an operator has them: processes that serve one port, end and come back."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Generator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from dragoman.cli import main
from tests.support.postgres import new_database
from tests.support.serving import AgentProcess

AGENT = """
import os
from dragoman import Agent

agent = Agent("Bot", "Says in which process it lives.")

@agent.skill
async def where(text: str) -> str:
    '''Tell the process.'''
    return str(os.getpid())
"""

SEND = {"message": {"role": "ROLE_USER", "parts": [{"text": "where?"}]}}


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "bot.py"
    path.write_text(AGENT)
    return path


@pytest.fixture
def served(agent: Path) -> Generator[AgentProcess]:
    options = ("--store", new_database(), "--workers", "2", "--log-format", "json")
    with AgentProcess(agent, *options) as process:
        yield process


def worker_of(process: AgentProcess) -> int:
    """Have a message answered over a connection of its own; return the process that did it."""
    body = json.dumps({"message": {**SEND["message"], "messageId": os.urandom(8).hex()}}).encode()
    headers = {"Content-Type": "application/a2a+json", "A2A-Version": "1.0"}
    connection = HTTPConnection("127.0.0.1", process.port, timeout=10)
    with closing(connection):
        connection.request("POST", "/message:send", body, headers)
        task = json.load(connection.getresponse())["task"]
    return int(task["artifacts"][0]["parts"][0]["text"])


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def until_workers(process: AgentProcess, count: int, *, without: int = 0) -> set[int]:
    """Call until so many processes have answered."""
    found: set[int] = set()

    def is_so() -> bool:
        try:
            found.add(worker_of(process))
        except OSError:
            return False  # Its worker ended with the connection in its queue.
        found.discard(without)
        return len(found) == count

    until(is_so)
    return found


@pytest.mark.timeout(60)
def test_a_port_is_served_by_all_workers_and_all_stop_together(served: AgentProcess) -> None:
    workers = until_workers(served, 2)
    assert served.stop() == 0
    for process in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    output = "".join(served.output)
    # By the process, a replica is found among the workers and a worker among the replicas.
    replicas = dict(re.findall(r"this is replica (\S+), process (\d+)", output))
    assert sorted(replicas.values(), key=int) == [str(process) for process in sorted(workers)]
    named = re.findall(r"worker (\d) is process (\d+)", output)
    assert [number for number, _ in named] == ["0", "1"]
    assert {int(process) for _, process in named} == workers


@pytest.mark.timeout(60)
def test_a_worker_that_dies_is_started_anew(served: AgentProcess) -> None:
    workers = until_workers(served, 2)
    victim = workers.pop()
    os.kill(victim, signal.SIGKILL)
    assert workers < until_workers(served, 2, without=victim)
    assert served.stop() == 0
    assert "ended by signal 9; started anew in 0.5 s" in "".join(served.output)


@pytest.mark.timeout(60)
def test_workers_end_with_their_parent(served: AgentProcess) -> None:
    workers = until_workers(served, 2)
    (worker, *_) = workers
    # The fourth field, after the name in brackets.
    parent = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)

    def are_gone() -> bool:
        return not any(Path(f"/proc/{process}").exists() for process in workers)

    until(are_gone)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["serve", "bot.py", "--port", "0", *arguments]) == 2
    return capsys.readouterr().err


def test_workers_need_a_store_that_they_can_share(capsys: pytest.CaptureFixture[str]) -> None:
    for store in ("memory:", "sqlite:///tasks.db"):
        text = refused(capsys, "--workers", "2", "--store", store)
        assert "2 workers need a store they can share: --store postgres://" in text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--workers", "0"), "workers must be a number from 1, not 0"),
        (("--workers", "2", "--grpc-port", "0"), "leave out --grpc-port"),
        (("--workers", "2", "--reload"), "leave out --workers"),
    ],
)
def test_what_workers_cannot_do_is_told(
    options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refused(capsys, "--store", "postgres://nobody@127.0.0.1:1/none", *options)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("source", ["", "def broken(:\n"])
def test_what_is_wrong_is_told_once_and_ends_all_workers(tmp_path: Path, source: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(source)
    process = AgentProcess(broken, "--store", new_database(), "--workers", "2")
    with pytest.raises(AssertionError):
        process.start()
    text = "".join(process.output)
    assert text.count("dragoman: error:") == 1
