"""The benchmark contract on nothing but an ASGI server and a JSON library: the limit to compare to.

It decodes the request into types, keeps tasks in a dict, and answers with the right bytes. It has
no dialects, no limits, no owners and hardly any errors, so whatever a complete server adds shows
up as its distance from this one. It is not a design to imitate.

With `--store sqlite:///PATH` an echo is answered once its one row is on disk, many rows to a
commit: the limit for a durable send.
"""

import argparse
import asyncio
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import uvicorn

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# How long `fan` waits before its first chunk. The same on every side.
FAN_DELAY_SECONDS = 1.5

TERMINAL = frozenset({"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"})


class _Struct(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The wire form: camel case, absent when unset."""


class Part(_Struct):
    """A text part; the contract has no other."""

    text: str


class Message(_Struct):
    """What the caller said."""

    message_id: str
    role: str
    parts: list[Part]
    task_id: str = ""
    context_id: str = ""


class Status(_Struct):
    """Where the task stands."""

    state: str
    timestamp: str


class Artifact(_Struct):
    """A result, or a chunk of one."""

    artifact_id: str
    parts: list[Part]


class Task(_Struct):
    """A task as GetTask shows it."""

    id: str
    context_id: str
    status: Status
    artifacts: list[Artifact] = []
    history: list[Message] = []


class ArtifactUpdate(_Struct):
    """A chunk on its way."""

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False


class StatusUpdate(_Struct):
    """A state on its way."""

    task_id: str
    context_id: str
    status: Status


class Event(_Struct):
    """One stream event; exactly one member is set."""

    task: Task | None = None
    artifact_update: ArtifactUpdate | None = None
    status_update: StatusUpdate | None = None


class Params(_Struct):
    """The parameters of every method of the contract, in one."""

    message: Message | None = None
    id: str = ""
    page_size: int = 50


class Envelope(_Struct):
    """A JSON-RPC request."""

    id: int | str
    method: str
    params: Params


class Turn:
    """A task with its encoded events, and the futures of those who wait for more."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.frames: list[bytes] = [ENCODER.encode(Event(task=task))]
        self.is_done = False
        self.waiting: list[asyncio.Future[None]] = []
        self.work: asyncio.Task[None] | None = None

    def emit(self, event: Event) -> None:
        """Append an event and wake the followers."""
        self.frames.append(ENCODER.encode(event))
        if self.waiting:
            for future in self.waiting:
                if not future.done():
                    future.set_result(None)
            self.waiting.clear()

    def add(self, artifact_id: str, text: str, *, append: bool, is_last: bool) -> None:
        """Add a chunk to the task's artifact."""
        chunk = Artifact(artifact_id=artifact_id, parts=[Part(text=text)])
        if append:
            self.task.artifacts[-1].parts.extend(chunk.parts)
        else:
            self.task.artifacts.append(Artifact(artifact_id=artifact_id, parts=list(chunk.parts)))
        self.emit(
            Event(
                artifact_update=ArtifactUpdate(
                    task_id=self.task.id,
                    context_id=self.task.context_id,
                    artifact=chunk,
                    append=append,
                    last_chunk=is_last,
                )
            )
        )

    def move(self, state: str) -> None:
        """Change the state; a terminal one ends the stream."""
        self.task.status = Status(state=state, timestamp=_now())
        self.is_done = state in TERMINAL
        self.emit(
            Event(
                status_update=StatusUpdate(
                    task_id=self.task.id, context_id=self.task.context_id, status=self.task.status
                )
            )
        )

    async def follow(self, start: int) -> AsyncIterator[list[bytes]]:
        """Yield the frames from `start` on, all that are ready at a time, until the end."""
        position = start
        while True:
            ready = self.frames[position:]
            if ready:
                position += len(ready)
                yield ready
            elif self.is_done:
                return
            else:
                await self._changed()

    async def finished(self) -> None:
        """Wait for the end."""
        while not self.is_done:
            await self._changed()

    def _changed(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        return future


class Rows:
    """One row per finished task in SQLite, committed in groups by one thread."""

    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[tuple[str, bytes, asyncio.Future[None]]] = []
        self._is_writing = False
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE tasks (id TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID")

    def save(self, task: Task) -> asyncio.Future[None]:
        """Return a future that is done when the row is on disk."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((task.id, ENCODER.encode(task), future))
        if not self._is_writing:
            self._is_writing = True
            asyncio.get_running_loop().call_soon(self._write)
        return future

    def _write(self) -> None:
        """Hand everything that waits to the thread, and again when it is done."""
        batch, self._waiting = self._waiting, []
        self._is_writing = bool(batch)
        if batch:
            loop = asyncio.get_running_loop()
            done = loop.run_in_executor(self._thread, self._commit, batch)
            done.add_done_callback(lambda _: self._wake(batch))

    def _commit(self, batch: list[tuple[str, bytes, asyncio.Future[None]]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        rows = [(key, body) for key, body, _ in batch]
        self._database.executemany("INSERT INTO tasks VALUES (?, ?)", rows)
        self._database.execute("COMMIT")

    def _wake(self, batch: list[tuple[str, bytes, asyncio.Future[None]]]) -> None:
        for _, _, future in batch:
            if not future.done():
                future.set_result(None)
        self._write()


ENCODER = msgspec.json.Encoder()
ENVELOPES = msgspec.json.Decoder(Envelope)
TURNS: dict[str, Turn] = {}
STORES: list[Rows] = []
JSON_HEADERS = [(b"content-type", b"application/json")]
STREAM_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


def _now() -> str:
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"


def _begin(message: Message) -> Turn:
    """Make the task and do the work; an echo is finished on return."""
    task = Task(
        id=secrets.token_hex(16),
        context_id=message.context_id or secrets.token_hex(16),
        status=Status(state="TASK_STATE_SUBMITTED", timestamp=_now()),
    )
    message.task_id, message.context_id = task.id, task.context_id
    task.history = [message]
    turn = TURNS[task.id] = Turn(task)
    text = message.parts[0].text
    word, _, rest = text.partition(" ")
    if word == "echo":
        turn.add(secrets.token_hex(16), text, append=False, is_last=False)
        turn.move("TASK_STATE_COMPLETED")
    else:
        turn.work = asyncio.get_running_loop().create_task(_work(turn, word, rest))
    return turn


async def _work(turn: Turn, word: str, rest: str) -> None:
    if word == "hold":
        turn.move("TASK_STATE_WORKING")
        return
    count, _, gap_ms = rest.partition(" ")
    if word == "fan":
        await asyncio.sleep(FAN_DELAY_SECONDS)
    for index in range(int(count)):
        if gap_ms and index:
            await asyncio.sleep(int(gap_ms) / 1000)
        stamp = f"#{index:06d}@{time.perf_counter_ns():018d};"
        turn.add("stream", stamp, append=index > 0, is_last=index == int(count) - 1)
    turn.move("TASK_STATE_COMPLETED")


def _list(page_size: int) -> bytes:
    newest = list(TURNS.values())[-page_size:]
    tasks = [msgspec.structs.replace(turn.task, artifacts=[]) for turn in reversed(newest)]
    return ENCODER.encode(
        {"tasks": tasks, "nextPageToken": "", "pageSize": page_size, "totalSize": len(TURNS)}
    )


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one HTTP request."""
    if scope["type"] != "http":
        return
    if scope["method"] != "POST":
        await _reply(send, b"{}")
        return
    body = b""
    more = True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    call = ENVELOPES.decode(body)
    await _answer(send, call, b'{"jsonrpc":"2.0","id":' + ENCODER.encode(call.id) + b',"result":')


async def _answer(send: Send, call: Envelope, head: bytes) -> None:
    match call.method:
        case "SendMessage" if call.params.message:
            turn = _begin(call.params.message)
            await turn.finished()
            for store in STORES:
                await store.save(turn.task)
            await _reply(send, head + b'{"task":' + ENCODER.encode(turn.task) + b"}}")
        case "SendStreamingMessage" if call.params.message:
            await _stream(send, head, _begin(call.params.message), 0)
        case "SubscribeToTask":
            turn = TURNS[call.params.id]
            await _stream(send, head, turn, len(turn.frames))
        case "GetTask":
            await _reply(send, head + ENCODER.encode(TURNS[call.params.id].task) + b"}")
        case "CancelTask":
            TURNS[call.params.id].move("TASK_STATE_CANCELED")
            await _reply(send, head + ENCODER.encode(TURNS[call.params.id].task) + b"}")
        case "ListTasks":
            await _reply(send, head + _list(call.params.page_size) + b"}")
        case _:
            await _reply(send, head + b"null}")


async def _reply(send: Send, body: bytes) -> None:
    headers = [*JSON_HEADERS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send, head: bytes, turn: Turn, start: int) -> None:
    """Send events from `start` on; a follower that comes later first gets the task as it is."""
    await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
    head = b"data: " + head
    if start:
        snapshot = ENCODER.encode(Event(task=turn.task))
        body = head + snapshot + b"}\n\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})
    async for frames in turn.follow(start):
        body = b"".join([head + frame + b"}\n\n" for frame in frames])
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", default="memory:")
    options = parser.parse_args()
    if options.store != "memory:":
        STORES.append(Rows(options.store.removeprefix("sqlite:///")))
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=options.port,
        log_level="warning",
        access_log=False,
        http="httptools",
        loop="uvloop",
        lifespan="off",
    )


if __name__ == "__main__":
    main()
