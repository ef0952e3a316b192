"""Notifications to receivers that are down, broken, slow or hostile: real ones, in processes.

Every receiver of a test is at the same host, and so is its fate: each test has a server of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from dragoman.stores.sqlite.maintenance import looking_at
from dragoman.stores.sqlite.webhooks import WebhookRows
from tests.cli.calling import Cli
from tests.durability.waiting import until
from tests.support.receivers import RETRY_AFTER_SECONDS, Mode, ReceiverProcess
from tests.support.serving import AgentProcess
from tests.support.wire import Json, Wire, message

pytestmark = pytest.mark.timeout(60)

AGENT: Final = Path(__file__).parents[1] / "durability" / "agent.py"
TOLD: Final = ["SUBMITTED", "WORKING", "COMPLETED"]
"""The states of an echo that a webhook is told of."""


class Notifying:
    """An agent whose webhooks may be on this machine, and its operator."""

    def __init__(self, process: AgentProcess, database: Path) -> None:
        self.url = process.url
        self._database = database
        self._cli = Cli(database.parent, "--store", f"sqlite:///{database}")

    def push(self, *arguments: str) -> Json:
        """Call a command for operators."""
        return self._cli("push", *arguments, "-o", "json").json

    def is_done(self) -> bool:
        """Tell whether no webhook waits for anything."""
        with looking_at(self._database) as connection:
            return not WebhookRows(connection).overview().pending

    def findings(self) -> list[str]:
        """Return why notifications were given up, in their order."""
        return [each["finding"] for each in self.push("list")["deadLetters"]]


Start = Callable[..., Notifying]


@pytest.fixture
def notifying(tmp_path: Path) -> Generator[Start]:
    processes: list[AgentProcess] = []

    def start(**variables: str) -> Notifying:
        database = tmp_path / "tasks.db"
        store = ("--store", f"sqlite:///{database}")
        hosts = ("--push-allow-hosts", "127.0.0.1:*,localhost:*")
        process = AgentProcess(AGENT, *store, "--push-allow-http", *hosts)
        process.start(**{f"DRAGOMAN_PUSH_{name.upper()}": text for name, text in variables.items()})
        processes.append(process)
        return Notifying(process, database)

    yield start
    for process in processes:
        process.kill()


@contextmanager
def receiving(folder: Path, mode: Mode = "ok", *, times: int = 0) -> Generator[ReceiverProcess]:
    with ReceiverProcess(folder, mode, times=times) as receiver:
        yield receiver


async def echo(agent: Notifying, url: str) -> None:
    """Have something done of which a webhook is told."""
    async with Wire(agent.url) as wire:
        hook = {"url": url}
        result = await wire.result(
            "SendMessage",
            {"message": message(), "configuration": {"taskPushNotificationConfig": hook}},
        )
    assert result["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_what_happens_is_told_in_order_and_once(tmp_path: Path, notifying: Start) -> None:
    agent = notifying()
    with receiving(tmp_path) as receiver:
        await echo(agent, f"{receiver.url}/hook")
        await until(agent.is_done)
    assert [request.state for request in receiver.requests("/hook")] == TOLD
    assert agent.findings() == []


async def test_a_receiver_may_be_down_for_a_while(tmp_path: Path, notifying: Start) -> None:
    agent = notifying()
    receiver = ReceiverProcess(tmp_path)
    await echo(agent, receiver.url)
    await until(lambda: agent.push("list")["webhooks"][0]["attempts"] > 0)
    with receiver:
        await until(agent.is_done)
    assert [request.state for request in receiver.requests()] == TOLD


@pytest.mark.parametrize("mode", ["errors", "reset", "silent", "busy"])
async def test_what_passes_is_tried_again_and_nothing_overtakes_it(
    tmp_path: Path, notifying: Start, mode: Mode
) -> None:
    agent = notifying(timeout_seconds="1")
    with receiving(tmp_path, mode, times=1) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        requests = receiver.requests()
    assert [request.state for request in requests] == [TOLD[0], *TOLD]
    assert len({request.id for request in requests}) == len(TOLD)
    # Every attempt says the same, under the same name.
    assert {request.text for request in requests[:2]} == {requests[0].text}
    assert agent.findings() == []


async def test_a_receiver_that_is_busy_says_when_to_come_again(
    tmp_path: Path, notifying: Start
) -> None:
    agent = notifying()
    with receiving(tmp_path, "busy", times=1) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        first, second, *_ = receiver.requests()
    assert second.at - first.at >= RETRY_AFTER_SECONDS


@pytest.mark.parametrize(
    ("mode", "finding"), [("redirect", "HTTP status 307"), ("gone", "HTTP status 410")]
)
async def test_what_will_not_pass_is_given_up_and_the_next_goes_on(
    tmp_path: Path, notifying: Start, mode: Mode, finding: str
) -> None:
    agent = notifying()
    with receiving(tmp_path, mode) as receiver:
        await echo(agent, f"{receiver.url}/hook")
        await until(agent.is_done)
        assert [request.state for request in receiver.requests("/hook")] == TOLD
        # Where it was sent to instead is not where it was registered for.
        assert receiver.requests("/elsewhere") == []
    assert agent.findings() == [finding] * len(TOLD)


async def test_after_the_last_try_it_is_given_up(tmp_path: Path, notifying: Start) -> None:
    agent = notifying(attempts="2")
    with receiving(tmp_path, "errors", times=2) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        assert [request.state for request in receiver.requests()] == [TOLD[0], *TOLD]
    assert agent.findings() == ["HTTP status 500"]


@pytest.mark.parametrize("mode", ["slow-body", "huge"])
async def test_an_answer_that_does_not_end_is_an_answer(
    tmp_path: Path, notifying: Start, mode: Mode
) -> None:
    agent = notifying(timeout_seconds="1")
    with receiving(tmp_path, mode) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        assert [request.state for request in receiver.requests()] == TOLD
    assert agent.findings() == []


async def test_nobody_waits_for_a_receiver_that_does_not_answer(
    tmp_path: Path, notifying: Start
) -> None:
    agent = notifying()
    with receiving(tmp_path, "silent") as silent, receiving(tmp_path) as healthy:
        # Neither the task, nor what is sent next to another host.
        await echo(agent, silent.url)
        await until(lambda: bool(silent.requests()))
        await echo(agent, healthy.url.replace("127.0.0.1", "localhost"))
        await until(lambda: len(healthy.requests()) == len(TOLD))
        assert not agent.is_done()
        assert len(silent.requests()) == 1


async def test_an_operator_has_dead_letters_sent_again(tmp_path: Path, notifying: Start) -> None:
    agent = notifying()
    with receiving(tmp_path, "gone", times=len(TOLD)) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        lost = receiver.requests()
        assert agent.push("retry", "--all") == {"queued": len(TOLD)}
        await until(agent.is_done)
        again = receiver.requests()[len(lost) :]
    assert [request.state for request in again] == TOLD
    assert [request.id for request in again] == [request.id for request in lost]
    assert agent.findings() == []


async def test_an_operator_drops_dead_letters(tmp_path: Path, notifying: Start) -> None:
    agent = notifying()
    with receiving(tmp_path, "gone") as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
        assert agent.push("drop", "--host", "127.0.0.1") == {"dropped": len(TOLD)}
        assert len(receiver.requests()) == len(TOLD)
    assert agent.push("list")["deadLetters"] == []


async def test_what_becomes_of_notifications_is_counted(tmp_path: Path, notifying: Start) -> None:
    agent = notifying()
    with receiving(tmp_path, "errors", times=1) as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
    with receiving(tmp_path, "gone") as receiver:
        await echo(agent, receiver.url)
        await until(agent.is_done)
    async with Wire(agent.url) as wire:
        text = (await wire.http.get("/metrics")).text
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    found = {name: float(value) for name, value in lines}
    assert found["dragoman_push_delivered_total"] == len(TOLD)
    assert found["dragoman_push_retried_total"] == 1
    assert found["dragoman_push_dead_total"] == len(TOLD)
    assert found["dragoman_push_dead_letters"] == len(TOLD)
    assert found["dragoman_push_webhooks"] == 2
    assert found["dragoman_push_pending"] == found["dragoman_push_oldest_pending_seconds"] == 0
