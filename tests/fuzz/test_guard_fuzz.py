"""Whatever comes to a guarded agent, through any of its doors: never its own fault, never a hang.

An agent in a process of its own, with authenticators and all limits on, is sent mutated requests:
JSON-RPC and HTTP+JSON of every version, gRPC, bytes of HTTP/1.1 and frames of HTTP/2. In the end it
must do its work as before, in no more memory, with no connection left and nothing but refusals in
its log. ``make soak`` sends 100,000.

Repeat a run with ``DRAGOMAN_FUZZ_SEED=<seed>``, one talk of it with ``<seed>/<number>``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final

import pytest
from google.protobuf import json_format

from tests.fuzz.guard.attacker import attack
from tests.fuzz.guard.callers import Callers
from tests.fuzz.guard.http1_talks import DOORS, Http1Talks
from tests.fuzz.guard.http2_talks import Http2Talks
from tests.fuzz.guard.process import GuardedProcess
from tests.fuzz.guard.talks import HeardWrongError, Talk
from tests.fuzz.test_grpc_fuzz import RPCS
from tests.scenarios.grpc_binding import V0_3_SERVICE, V1_0_SERVICE, Rpcs

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
REQUESTS: Final = 100_000 if IS_SOAK else 2_000
AT_ONCE: Final = 24

WARM_SHARE: Final = 0.3
"""Of the requests: by then the tables and caches of the server itself have been filled."""

MOST_GROWTH_MB: Final = 24
"""How much memory may come on top of that: the pages that SQLite keeps, 16 MB for who writes and
4 MB for each of those who read, are still being filled as the store grows. Nothing else is; in a
soak it would have to lose no more than 350 bytes per request to go unnoticed."""

STALL_SHARE: Final = 0.003
"""Of the talks: each takes as long as the server is patient."""

MOST_CLOSED_SHARE: Final = 0.02

DRAIN_SECONDS: Final = 30
SPARE_FILES: Final = 5
"""Files that a server opens only once it works: its store, the keys."""

COMPLAINT: Final = re.compile(
    r"^\S+ (error|critical|warning) +(?!"
    # What is wrong with what has come is worth a warning, and no more.
    r"uvicorn\.error: Invalid HTTP request received\.$"
    r"|uvicorn\.error: Unsupported upgrade request\.$"
    r"|dragoman\.server\.tasks\.idempotency: messageId .* was used before with other content"
    r")|Traceback|never awaited|never retrieved"
)


class Talks:
    """Makes talk after talk; each is told by the seed and its number alone."""

    def __init__(self, seed: str, callers: Callers, valid: dict[str, bytes]) -> None:
        self._seed = seed
        self._http1 = Http1Talks(callers)
        self._http2 = Http2Talks(callers, valid)

    def make(self, number: int) -> Talk:
        chance = random.Random(f"{self._seed}/{number}")  # noqa: S311 - to be repeated, not to be secret
        http = chance.choice((self._http1, self._http2))
        if chance.random() < STALL_SHARE:
            return http.stalled_talk(chance)
        door = chance.choice((*DOORS, *DOORS, "HTTP/1.1", "HTTP/2", "gRPC", "gRPC"))
        match door:
            case "gRPC":
                return self._http2.talk(chance)
            case "HTTP/2":
                return self._http2.raw_talk(chance)
            case "HTTP/1.1":
                return self._http1.raw_talk(chance)
            case _:
                return self._http1.talk(door, chance)


class Run:
    """Many talks at once, with what came of them.

    Attributes:
        tally: how often each outcome was heard at each door.
        memory_mb: after the first requests, and then every tenth of them.
    """

    def __init__(self, process: GuardedProcess, talks: Talks) -> None:
        self._process = process
        self._talks = talks
        self._numbers = count()
        self.tally: Counter[tuple[str, str]] = Counter()
        self.requests = 0
        self.memory_mb: list[float] = []

    async def go(self) -> None:
        """Attack until enough requests were sent."""
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._attack_on())

    async def _attack_on(self) -> None:
        while self.requests < REQUESTS:
            await self.attack(next(self._numbers))

    async def attack(self, number: int) -> None:
        """Have one talk."""
        talk = self._talks.make(number)
        try:
            outcomes = await attack(self._process.port, talk)
        except (HeardWrongError, ValueError, LookupError, OSError) as error:
            error.add_note(f"talk {number}: {talk.door}, {talk.what}")
            error.add_note(f"{b''.join(talk.pieces)[:3000]!r}")
            raise
        self.tally.update((talk.door, outcome) for outcome in outcomes)
        self.requests += max(1, len(talk.asked))
        tenths = (self.requests / REQUESTS - WARM_SHARE) * 10
        if tenths >= len(self.memory_mb) and self.requests <= REQUESTS:
            self.memory_mb.append(self._process.memory_mb())


@pytest.fixture
def callers(tmp_path: Path) -> Callers:
    return Callers(tmp_path)


@pytest.fixture
def process(tmp_path: Path, callers: Callers) -> Iterator[GuardedProcess]:
    with GuardedProcess(tmp_path, callers) as process:
        yield process


async def valid_messages(port: int) -> dict[str, bytes]:
    """Return a message that each method of gRPC takes, by its path."""
    found: dict[str, bytes] = {}
    for service in (V1_0_SERVICE, V0_3_SERVICE):
        async with Rpcs(f"http://127.0.0.1:{port}", service) as client:
            for rpc in RPCS:
                if rpc.service == service:
                    request, _ = await client.messages(rpc.name)
                    message = json_format.ParseDict(rpc.valid, request())
                    found[f"/{service}/{rpc.name}"] = message.SerializeToString()
    return found


@pytest.mark.timeout(1800 if IS_SOAK else 180)
async def test_mutated_requests_through_all_doors(
    process: GuardedProcess, callers: Callers, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, _, only = (os.environ.get("DRAGOMAN_FUZZ_SEED") or str(random.getrandbits(32))).partition(
        "/"
    )
    run = Run(process, Talks(seed, callers, await valid_messages(process.port)))
    files = process.open_files()
    began = monotonic()
    try:
        if only:
            await run.attack(int(only))
            return
        await run.go()
        await check_that_nothing_is_left(process, files)
        check_that_it_was_worth_it(run.tally)
        await check_that_it_works(process, callers)
        assert run.memory_mb[-1] - run.memory_mb[0] <= MOST_GROWTH_MB, run.memory_mb
        assert process.stop() == 0
        check_log(process.log, callers)
    except BaseException as error:
        error.add_note(f"repeat with DRAGOMAN_FUZZ_SEED={seed}")
        error.add_note(f"the end of the log: {process.log[-2000:]}")
        raise
    finally:
        with capsys.disabled():
            memory = ", ".join(f"{mb:.0f}" for mb in run.memory_mb)
            print(  # noqa: T201 - what a soak is run for
                f"\n{run.requests} requests in {monotonic() - began:.0f} s, seed {seed}, "
                f"memory {memory} MB\n{dict(sorted(run.tally.items()))}"
            )


async def check_that_nothing_is_left(process: GuardedProcess, before: int | None) -> None:
    """Wait until the server has let go of every connection."""
    deadline = monotonic() + DRAIN_SECONDS
    while before is not None and (process.open_files() or 0) > before + SPARE_FILES:
        assert monotonic() < deadline, f"{process.open_files()} files, {before} before"
        await asyncio.sleep(0.1)
    assert process.is_running


def check_that_it_was_worth_it(tally: Counter[tuple[str, str]]) -> None:
    """Every door has been opened, and has been shut in more than one way."""
    doors = {door for door, _ in tally}
    assert doors == {*DOORS, "gRPC", "HTTP/1.1", "HTTP/2"}
    for door in doors - {"HTTP/1.1", "HTTP/2"}:
        assert {outcome for at, outcome in tally if at == door} >= {
            "served",
            "refused",
            "unauthenticated",
        }, tally
        # Closed without a word, because the machine was busy: not more than a few.
        answered = sum(number for (at, _), number in tally.items() if at == door)
        assert tally[door, "closed"] <= answered * MOST_CLOSED_SHARE, tally
    assert tally["HTTP/1.1", "refused"], tally
    assert tally["HTTP/2", "cut"], tally


async def check_that_it_works(process: GuardedProcess, callers: Callers) -> None:
    """A caller with a key or a token, of whom nobody has heard too much, is served as ever."""
    chance = random.Random(0)  # noqa: S311 - no secret
    served = 0
    for number in range(20):
        message = {
            "messageId": f"alive-{number}",
            "role": "ROLE_USER",
            "metadata": {"skillId": "mirror"},
            "parts": [{"text": "still there?"}],
        }
        body = json.dumps({"message": message}).encode()
        name, value = callers.good(chance)
        lines = (
            b"POST /message:send HTTP/1.1",
            b"Host: 127.0.0.1",
            b"Connection: close",
            b"Content-Type: application/json",
            b"X-Forwarded-For: 10.3.0.1",
            b"%b: %b" % (name, value),
            b"Content-Length: %d" % len(body),
        )
        talk = Talk("check", "", [b"\r\n".join([*lines, b"", body])], is_whole=True, asked=["POST"])
        served += await attack(process.port, talk) == ["served"]
    # A few of the keys have been revoked or are for another tenant, and others are used up.
    assert served >= 10


def check_log(log: str, callers: Callers) -> None:
    """Whatever has come, the server has found nothing to complain of, and told no secret."""
    assert [line for line in log.splitlines() if COMPLAINT.search(line)][:9] == []
    assert [secret for secret in callers.secrets if secret in log] == []
