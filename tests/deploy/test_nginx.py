"""A real nginx with ``deploy/nginx.conf`` in front of real agents; only addresses are replaced."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import subprocess
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep
from typing import Final

import httpx2
import pytest

from tests.scenarios.grpc_binding import Rpcs
from tests.support.programs import need
from tests.support.server.certificates import Files, write_files
from tests.support.serving import AgentProcess, free_port
from tests.support.wire import Json, frames, message

CONFIG: Final = Path(__file__).parents[2] / "deploy" / "nginx.conf"
AGENT: Final = Path(__file__).parents[1] / "durability" / "agent.py"
TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def write_config(folder: Path, files: Files, port: int, backends: Mapping[str, int]) -> Path:
    """Write the configuration with addresses of this machine and files of the test."""
    text = CONFIG.read_text("utf-8")
    for name, backend in backends.items():
        text = text.replace(f"{name}:8000", f"127.0.0.1:{backend}")
    assert not re.search(r"agent-\d", text)
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in TEMPORARY)
    text = (
        text.replace("listen 8443", f"listen 127.0.0.1:{port}")
        .replace("/etc/nginx/tls.crt", files.server)
        .replace("/etc/nginx/tls.key", files.server_key)
        .replace("http {\n", f"http {{\n{paths}", 1)
    )
    written = folder / "nginx.conf"
    written.write_text(text, "utf-8")
    return written


def command(folder: Path, config: Path, *arguments: str) -> list[str]:
    # What root starts would work as somebody who may not read the folders of a test.
    user = "user root;" if os.geteuid() == 0 else ""
    own = f"daemon off; pid {folder}/pid; {user}"
    return [
        *(need("nginx"), "-p", str(folder), "-c", str(config), "-e", str(folder / "errors")),
        *("-g", own, *arguments),
    ]


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            sleep(0.02)
        else:
            return
    raise AssertionError("nginx does not start")


@contextmanager
def nginx(folder: Path, files: Files, backends: Mapping[str, int]) -> Generator[str]:
    """Run nginx; give its address."""
    port = free_port()
    config = write_config(folder, files, port, backends)
    test = subprocess.run(
        command(folder, config, "-t"), capture_output=True, text=True, check=False
    )
    assert test.returncode == 0, test.stderr
    process = subprocess.Popen(command(folder, config), stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield f"https://localhost:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def agents() -> Iterator[dict[str, AgentProcess]]:
    """Three agents, each for itself: what one answers says which of them was asked."""
    need("nginx")
    with ExitStack() as stack:
        yield {
            f"agent-{number}": stack.enter_context(AgentProcess(AGENT, "--store", "memory:"))
            for number in (1, 2, 3)
        }


@pytest.fixture(scope="module")
def url(
    tmp_path_factory: pytest.TempPathFactory, files: Files, agents: dict[str, AgentProcess]
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("nginx")
    with nginx(folder, files, {name: agent.port for name, agent in agents.items()}) as url:
        yield url


@pytest.fixture
async def http(url: str, files: Files) -> AsyncGenerator[httpx2.AsyncClient]:
    context = ssl.create_default_context(cafile=files.ca)
    headers = {"A2A-Version": "1.0"}
    async with httpx2.AsyncClient(
        base_url=url, headers=headers, verify=context, timeout=15, trust_env=False
    ) as client:
        yield client


def hold(file: Path) -> Json:
    """Return a message whose task says something, and then waits for a file."""
    return {"message": message(str(file), metadata={"skillId": "hold"})}


async def test_an_event_is_not_held_back(http: httpx2.AsyncClient, tmp_path: Path) -> None:
    file = tmp_path / "go on"
    async with http.stream("POST", "/message:stream", json=hold(file)) as response:
        assert response.status_code == 200
        states: list[str | None] = []
        async for frame in frames(response):
            states.append(frame.state)
            # Only now may the task end: what was said before has come through.
            if frame.state == "TASK_STATE_WORKING" and "holding" in str(frame.result):
                await asyncio.to_thread(file.touch)
    assert states[-1] == "TASK_STATE_COMPLETED"


async def test_a_grpc_stream_comes_through_as_it_happens(
    url: str, files: Files, tmp_path: Path
) -> None:
    file = tmp_path / "go on"
    authority = await asyncio.to_thread(Path(files.ca).read_bytes)
    async with Rpcs(url, authority=authority) as rpcs:
        answer, _ = await rpcs.unary("SendMessage", {"message": message("through nginx")})
        assert answer["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        async with rpcs.stream("SendStreamingMessage", hold(file)) as stream:
            last: Json = {}
            async for last in stream:
                if "holding" in str(last):
                    await asyncio.to_thread(file.touch)
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_replicas_that_are_gone_are_passed_over(
    http: httpx2.AsyncClient, agents: dict[str, AgentProcess]
) -> None:
    gone = [agents["agent-1"], agents["agent-3"]]
    for agent in gone:
        await asyncio.to_thread(agent.kill)
    try:
        for _ in range(6):
            response = await http.post("/message:send", json={"message": message("anybody?")})
            assert response.status_code == 200, response.text
    finally:
        for agent in gone:
            await asyncio.to_thread(agent.start)


async def test_the_agent_learns_who_calls_and_how(http: httpx2.AsyncClient, url: str) -> None:
    card = (await http.get("/.well-known/agent-card.json")).json()
    # By the forwarded headers, as there is no public_url here.
    urls = {
        interface["url"].rstrip("/")
        for interface in card["supportedInterfaces"]
        if interface["protocolBinding"] != "GRPC"
    }
    assert urls == {url}


async def test_a_body_that_the_agent_refuses_is_refused_by_the_agent(
    http: httpx2.AsyncClient,
) -> None:
    response = await http.post("/message:send", content=b"x" * (16 * 2**20 + 1))
    assert response.status_code == 413
    assert response.headers["content-type"].startswith("application/")
