"""Witness: remembers what clients were told, and compares it with what the server says afterwards.

Told is what reached a client: the body of a response (acknowledged) and every event of a stream
(delivered). None of it may be missing or different later, whatever happened to the server in
between. What was sent but never answered may have been stored or not, but only once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from tests.support.wire import Frame, Json, Wire

__all__ = ("Inquiry", "Reading", "TaskWitness", "Witness", "text_of")

TERMINAL = frozenset(
    f"TASK_STATE_{name}" for name in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
)
PAGE_SIZE = 100


class TaskWitness:
    """What was told about one task."""

    def __init__(self) -> None:
        # The task in responses, oldest first, as the bytes that came.
        self.answers: list[bytes] = []
        # The task at the head of a stream, by the number of the event it was folded at.
        self.folded: dict[int, Json] = {}
        # Events, by number.
        self.events: dict[int, Json] = {}

    @property
    def final(self) -> bytes | None:
        """The first answer that said the task was over."""
        for answer in self.answers:
            if json.loads(answer)["status"]["state"] in TERMINAL:
                return answer
        return None


class Witness:
    """What was told about all tasks, and what was sent."""

    def __init__(self) -> None:
        self.sent: dict[str, Json] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.tasks: dict[str, TaskWitness] = {}

    @property
    def unanswered(self) -> set[str]:
        """The ids of messages whose fate their sender does not know."""
        return self.sent.keys() - self.acknowledged.keys()

    def sends(self, message: Json) -> None:
        """Note that a message goes out."""
        self.sent[message["messageId"]] = message

    def hears(self, message: Json, body: bytes) -> str | None:
        """Note the HTTP+JSON answer to a message; return the id of its task, if it has one."""
        self.acknowledged[message["messageId"]] = body
        if not body.startswith(b'{"task":'):
            return None
        return self.sees(body[len(b'{"task":') : -1])

    def sees(self, task: bytes) -> str:
        """Note a task as it was returned; return its id."""
        task_id: str = json.loads(task)["id"]
        self.task(task_id).answers.append(task)
        return task_id

    def task(self, task_id: str) -> TaskWitness:
        """Return what is known of a task."""
        return self.tasks.setdefault(task_id, TaskWitness())

    def reading(self) -> Reading:
        """Begin to read a stream."""
        return Reading(self)


class Reading:
    """One stream, as its reader sees it: a task, then its events one by one."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self.task_id = ""
        self.cursor = 0

    def take(self, frame: Frame) -> None:
        """Note a frame; it must be the next one, and say what was said before under its number."""
        seq = int(frame.id)
        if not self.task_id:
            assert frame.kind == "task"
            self.task_id = frame.result["task"]["id"]
            told = self._witness.task(self.task_id)
            known = told.folded.setdefault(seq, frame.result["task"])
            assert known == frame.result["task"], f"two tasks folded at {seq}"
        else:
            assert seq == self.cursor + 1, f"event {seq} came after {self.cursor}"
            known = self._witness.task(self.task_id).events.setdefault(seq, frame.result)
            assert known == frame.result, f"two events numbered {seq}"
        self.cursor = seq


class Inquiry:
    """Asks a server about everything a witness knows."""

    def __init__(self, witness: Witness, wire: Wire, random: Random) -> None:
        self._witness = witness
        self._wire = wire
        self._random = random

    async def task(self, task_id: str) -> None:
        """Compare one task, and its log, with what was told about it."""
        told = self._witness.tasks[task_id]
        now = await self._get(task_id)
        task = json.loads(now)
        if told.final is not None:
            assert now == told.final
        assert task["status"]["state"] in TERMINAL
        if task["status"]["state"] == "TASK_STATE_FAILED":
            assert text_of(task["status"]["message"]), "it failed and does not say why"
        for answer in told.answers:
            check_growth(json.loads(answer), task)
        log = await self._replay(task_id, 1)
        check_log(log, task)
        for seq, event in told.events.items():
            assert log[seq - 1].result == event, f"event {seq} is not what was delivered"
        last = len(log)
        for seq in {*told.folded, self._random.randint(1, last)}:
            frames = await self._replay(task_id, seq)
            if seq in told.folded:
                assert frames[0].result["task"] == told.folded[seq]
            check_fold(frames[0].result["task"], log[:seq])
            assert [frame.result for frame in frames[1:]] == [frame.result for frame in log[seq:]]

    async def totals(self) -> list[Json]:
        """Return every task there is; the server's counts must be the real ones."""
        tasks: list[Json] = []
        token = ""
        while True:
            page = await self._list(pageToken=token, pageSize=str(PAGE_SIZE))
            tasks += page["tasks"]
            assert page["totalSize"] >= len(tasks)
            token = page["nextPageToken"]
            if not token:
                break
        total = page["totalSize"]
        assert total == len(tasks) == len({task["id"] for task in tasks})
        # This one is counted anew, the one above is kept by the store.
        counted = await self._list(statusTimestampAfter="2000-01-01T00:00:00Z", pageSize="1")
        assert counted["totalSize"] == total
        states = {task["status"]["state"] for task in tasks}
        assert states <= TERMINAL
        for state in TERMINAL:
            page = await self._list(status=state, pageSize="1")
            assert page["totalSize"] == sum(task["status"]["state"] == state for task in tasks)
        return tasks

    async def lists(self) -> None:
        """Find every task that was told of, and no other but those of unanswered messages."""
        tasks = await self.totals()
        there = {task["id"] for task in tasks}
        assert self._witness.tasks.keys() <= there
        firsts = [task["history"][0] for task in tasks]
        ids = [message["messageId"] for message in firsts]
        assert len(ids) == len(set(ids)), "a message began two tasks"
        for task, first in zip(tasks, firsts, strict=True):
            if task["id"] not in self._witness.tasks:
                assert first["messageId"] in self._witness.unanswered
                assert first["parts"] == self._witness.sent[first["messageId"]]["parts"]

    async def resend(self, message_id: str) -> None:
        """Send an acknowledged message again: the answer is about the same task."""
        message = self._witness.sent[message_id]
        answer = await self._send(message)
        known = self._witness.acknowledged[message_id]
        if known.startswith(b'{"task":'):
            task_id: str = json.loads(known)["task"]["id"]
            assert answer == b'{"task":' + await self._get(task_id) + b"}"
        else:
            assert answer == known

    async def retry(self, message_id: str) -> None:
        """Send an unanswered message again, as its sender would; whatever came of it counts now."""
        message = self._witness.sent[message_id]
        self._witness.hears(message, await self._send(message))

    async def _send(self, message: Json) -> bytes:
        response = await self._wire.http.post("/message:send", json={"message": message})
        assert response.status_code == 200, response.text
        return response.content

    async def _get(self, task_id: str) -> bytes:
        response = await self._wire.http.get(f"/tasks/{task_id}")
        assert response.status_code == 200, response.text
        return response.content

    async def _list(self, **query: str) -> Json:
        response = await self._wire.http.get("/tasks", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    async def _replay(self, task_id: str, after: int) -> list[Frame]:
        path = f"/tasks/{task_id}:subscribe"
        async with self._wire.stream("GET", path, **{"Last-Event-ID": str(after)}) as frames:
            replayed = [frame async for frame in frames]
        assert [int(frame.id) for frame in replayed] == list(range(after, after + len(replayed)))
        return replayed


def check_growth(then: Json, now: Json) -> None:
    """Check that nothing of a task as it was then is gone."""
    is_found = [item in now.get("history", ()) for item in then.get("history", ())]
    assert all(is_found), "an acknowledged message is gone"
    places = [now["history"].index(item) for item in then.get("history", ())]
    assert places == sorted(places), "acknowledged messages changed places"
    said = then["status"].get("message")
    assert said is None or said in (now["status"].get("message"), *now.get("history", ()))
    for artifact in then.get("artifacts", ()):
        assert (
            text_of(artifact)
            == artifact_text(now, artifact["artifactId"])[: len(text_of(artifact))]
        )


def check_log(log: Sequence[Frame], task: Json) -> None:
    """Check that a log, whose first frame is the task at 1, leads to the task."""
    assert log[0].state == "TASK_STATE_SUBMITTED"
    states = [frame.state for frame in log[1:] if frame.kind == "statusUpdate"]
    assert [state for state in states if state in TERMINAL] == states[-1:]
    assert log[-1].result["statusUpdate"]["status"] == task["status"]
    check_fold(task, log)


def check_fold(task: Json, log: Sequence[Frame]) -> None:
    """Check that a task has the artifacts and the status that these events say."""
    text = "".join(chunks_of(log))
    assert "".join(text_of(artifact) for artifact in task.get("artifacts", ())) == text
    if task["history"][0].get("metadata", {}).get("skillId") == "chunks":
        lines = text.splitlines()
        assert lines == [str(number) for number in range(len(lines))]
    assert task["status"]["state"] == [frame.state for frame in log if frame.state][-1]


def chunks_of(log: Iterable[Frame]) -> Iterator[str]:
    """Yield the texts of the artifact updates."""
    for frame in log:
        if frame.kind == "artifactUpdate":
            yield text_of(frame.result["artifactUpdate"]["artifact"])


def artifact_text(task: Json, artifact_id: str) -> str:
    """Return the text of one artifact, which must be there."""
    return next(
        text_of(artifact)
        for artifact in task.get("artifacts", ())
        if artifact["artifactId"] == artifact_id
    )


def text_of(holder: Json) -> str:
    """Return the text of a message or an artifact."""
    return "".join(part.get("text", "") for part in holder["parts"])
