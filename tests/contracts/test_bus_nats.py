"""What NATS adds to the contract of the bus: restarts, clusters, and who may connect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shutil import move

import pytest
from nats.aio.client import Client

from dragoman.bus.base import TaskMoved, WorkReleased
from dragoman.bus.nats.address import DEFAULT_PREFIX
from dragoman.bus.nats.bus import HintClient, NatsBus
from tests.contracts.hearing import Ear, hear_of, tell_until
from tests.durability.waiting import until
from tests.support.nats import NatsServer, nats_cluster, nats_server
from tests.support.nats_keys import Issuer, credentials
from tests.support.server.certificates import Files, write_files

USER = Issuer("user", bytes(32))
OTHER = Issuer("user", bytes(range(32)))


@asynccontextmanager
async def connected(*urls: str) -> AsyncGenerator[list[Ear]]:
    """Open a bus on each address."""
    async with AsyncExitStack() as stack:
        ears = [Ear(NatsBus(url), f"replica-{number}") for number, url in enumerate(urls)]
        for ear in ears:
            stack.push_async_callback(ear.bus.close)
            await ear.open()
        yield ears


async def hear_each_other(url: str) -> None:
    async with connected(url, url) as (a, b):
        assert a.bus.is_connected
        b.follow("t1")
        await hear_of(a, b, "t1")


async def stay_outside(url: str, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    caplog.clear()
    async with connected(url) as (a,):
        assert not a.bus.is_connected
        a.bus.publish(WorkReleased())
    assert reason in caplog.text


# --- servers that come and go -------------------------------------------------------------------


@pytest.mark.crash
@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_restart_is_a_gap_and_nothing_else(*, is_killed: bool) -> None:
    with nats_server() as server:
        async with connected(server.url, server.url) as (a, b):
            b.follow("t1")
            await hear_of(a, b, "t1")
            for round_ in (1, 2):
                server.kill() if is_killed else server.stop()
                await until(lambda: not (a.bus.is_connected or b.bus.is_connected))
                a.bus.publish(TaskMoved("t1", 99))
                server.start()
                await until(lambda: a.gaps == b.gaps == round_)  # noqa: B023 - called in this round
                told = TaskMoved("t1", 1 + round_)
                await tell_until(a, told, lambda: b.latest("t1") == told.seq)  # noqa: B023 - the same


class Losing(HintClient):
    """Can lose its connection while something is left to be sent."""

    async def lose(self) -> None:
        self._pending.append(b"PING\r\n")
        self._pending_data_size = 6
        # A network would take its time.
        writer: asyncio.StreamWriter = vars(self._transport)["_io_writer"]
        writer.transport.abort()
        reading: asyncio.Task[None] = vars(self)["_reading_task"]
        await reading


async def test_a_loss_is_told_although_something_was_left_to_be_sent() -> None:
    with nats_server() as server:
        client = Losing(lambda _subject, _content: None, nkey=None, is_tls=False)
        losses: list[str] = []

        async def closed() -> None:
            losses.append("told")

        await client.connect([server.url], allow_reconnect=False, closed_cb=closed)
        async with asyncio.timeout(10):
            await client.lose()
        assert losses == ["told"]


@pytest.mark.crash
async def test_a_cluster_outlives_one_of_its_servers() -> None:
    with nats_cluster() as servers:
        # Each knows of one server that stays, so that it is one of the told ones that helps b.
        a_knows = ",".join(server.url for server in servers[:2])
        async with connected(a_knows, servers[0].url, servers[2].url) as (a, b, c):
            b.follow("t1")
            c.follow("t1")
            await hear_of(a, b, "t1")
            await hear_of(a, c, "t1")
            servers[0].kill()
            await until(lambda: b.gaps == 1)
            await tell_until(
                c, TaskMoved("t1", 7), lambda: a.bus.is_connected and b.latest("t1") == 7
            )
            await tell_until(a, TaskMoved("t1", 8), lambda: b.latest("t1") == c.latest("t1") == 8)
            assert c.gaps == 0


async def test_deployments_with_other_prefixes_do_not_hear_each_other() -> None:
    with nats_server() as server:
        green = f"{server.url}?prefix=green"
        async with connected(green, green, f"{server.url}?prefix=blue") as (a, b, other):
            for ear in (b, other):
                ear.follow("t1")
            await tell_until(other, WorkReleased(), lambda: other.bus.is_connected)
            await hear_of(a, b, "t1")
            await tell_until(a, WorkReleased(), lambda: bool(b.hints))
            assert (other.moves, other.hints) == ([], [])


async def test_nonsense_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    with nats_server() as server:
        async with connected(server.url, server.url) as (a, b):
            b.follow("t1")
            await hear_of(a, b, "t1")
            stranger = Client()
            await stranger.connect([server.url])
            for content in (b"", b"-1", b"1.5", b"9" * 5000, b"\xff", b" "):
                await stranger.publish(f"dragoman.{DEFAULT_PREFIX}.task.t1", content)
                await stranger.publish(f"dragoman.{DEFAULT_PREFIX}.spent", content)
                await stranger.publish(f"dragoman.{DEFAULT_PREFIX}.spent", content + b" x")
            await stranger.drain()
            await tell_until(a, WorkReleased(), lambda: bool(b.hints))
            await tell_until(a, TaskMoved("t1", 2), lambda: b.latest("t1") == 2)
            assert set(b.hints) == {WorkReleased()}
            assert a.gaps == b.gaps == 0
    assert "error" not in caplog.text


# --- who may connect ----------------------------------------------------------------------------


REFUSED = "Authorization Violation"


def written(path: Path, text: str) -> str:
    """Write a file and return its name."""
    path.write_text(text, "ascii")
    return str(path)


def key_config(folder: Path) -> str:
    """Write a configuration for one user, known by the key."""
    return written(
        folder / "nats.conf", f'authorization {{ users = [ {{ nkey: "{USER.public}" }} ] }}'
    )


async def test_a_user_shows_the_password(caplog: pytest.LogCaptureFixture) -> None:
    with nats_server("--user", "agent", "--pass", "s3cret") as server:
        address = server.url.removeprefix("nats://")
        await hear_each_other(f"nats://agent:s3cret@{address}")
        await stay_outside(f"nats://agent:wrong@{address}", caplog, REFUSED)
        assert "wrong" not in caplog.text
        await stay_outside(server.url, caplog, REFUSED)


async def test_a_password_that_was_wrong_may_become_right() -> None:
    with nats_server("--user", "agent", "--pass", "old") as server:
        address = server.url.removeprefix("nats://")
        async with connected(f"nats://agent:new@{address}") as (a,):
            assert not a.bus.is_connected
            server.stop()
            changed = NatsServer("--user", "agent", "--pass", "new", port=server.port)
            changed.start()
            try:
                await until(lambda: a.bus.is_connected)
            finally:
                changed.kill()


async def test_a_token_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    with nats_server("--auth", "t0ken") as server:
        address = server.url.removeprefix("nats://")
        await hear_each_other(f"nats://t0ken@{address}")
        await stay_outside(f"nats://other@{address}", caplog, REFUSED)


async def test_a_key_signs_what_the_server_makes_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = written(tmp_path / "own.nk", USER.seed)
    other = written(tmp_path / "other.nk", OTHER.seed)
    with nats_server("-c", key_config(tmp_path)) as server:
        await hear_each_other(f"{server.url}?nkey={own}")
        await stay_outside(f"{server.url}?nkey={other}", caplog, REFUSED)


async def test_credentials_are_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    operator, account = Issuer("operator", bytes(31) + b"o"), Issuer("account", bytes(31) + b"a")
    limits = {"subs": -1, "data": -1, "payload": -1}
    unlimited = {**limits, "imports": -1, "exports": -1, "conn": -1, "leaf": -1, "wildcards": True}
    account_token = operator.sign(account.public, {"type": "account", "limits": unlimited})
    user_token = account.sign(USER.public, {"type": "user", **limits})
    config = written(
        tmp_path / "nats.conf",
        f"operator: {operator.sign(operator.public, {'type': 'operator'})}\n"
        f"resolver: MEMORY\nresolver_preload: {{ {account.public}: {account_token} }}\n",
    )
    creds = written(tmp_path / "user.creds", credentials(user_token, USER.seed))
    stolen = written(tmp_path / "stolen.creds", credentials(user_token, OTHER.seed))
    with nats_server("-c", config) as server:
        await hear_each_other(f"{server.url}?creds={creds}")
        await stay_outside(f"{server.url}?creds={stolen}", caplog, REFUSED)


async def test_a_key_that_vanishes_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seed = written(tmp_path / "user.nk", USER.seed)
    with nats_server("-c", key_config(tmp_path)) as server:
        async with connected(f"{server.url}?nkey={seed}") as (a,):
            move(seed, f"{seed}.old")
            server.stop()
            server.start()
            await until(lambda: "No such file" in caplog.text)
            assert not a.bus.is_connected
            move(f"{seed}.old", seed)
            await until(lambda: a.gaps == 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Certificates of a server, a client and their authority."""
    return write_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_server(files: Files) -> Iterator[NatsServer]:
    shown = ("--tlscert", files.server, "--tlskey", files.server_key)
    with nats_server("--tlsverify", *shown, "--tlscacert", files.ca) as server:
        yield server


async def test_both_sides_show_certificates(
    tls_server: NatsServer, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"tls://localhost:{tls_server.port}?ca={files.ca}"
    await hear_each_other(f"{url}&cert={files.client}&key={files.client_key}")
    await stay_outside(url, caplog, "no connection")


async def test_a_server_that_nobody_vouches_for_is_not_trusted(
    tls_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"tls://localhost:{tls_server.port}"
    await stay_outside(url, caplog, "CERTIFICATE_VERIFY_FAILED")


async def test_nothing_is_told_to_a_server_without_tls(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    with nats_server("--auth", "t0ken") as server:
        url = f"tls://t0ken@localhost:{server.port}?ca={files.ca}"
        await stay_outside(url, caplog, "does not offer TLS")
