"""Callers known by their certificate: the same person on every binding of one port."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.scenarios.grpc_binding import Rpcs
from tests.support.server.certificates import Files, write_files
from tests.support.serving import AgentProcess
from tests.support.wire import Json, message

AGENT = """
from dragoman import Agent, Context
from dragoman.auth.incoming.client_certificates import ClientCertificates

agent = Agent("Passport", auth=[ClientCertificates()])


@agent.skill
async def whoami(ctx: Context, text: str) -> str:
    return f"{text} {ctx.user}"
"""

PERSON = "cert:dns:localhost"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Certificates of a server, a client and their authority."""
    return write_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def process(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent that asks for a certificate."""
    agent = tmp_path_factory.mktemp("agent") / "agent.py"
    agent.write_text(AGENT)
    flags = ("--tls-cert", files.server, "--tls-key", files.server_key)
    with AgentProcess(agent, *flags, "--tls-client-ca", files.ca, "--store", "memory:") as running:
        yield running


def content_of(path: str) -> bytes:
    return Path(path).read_bytes()


def said_in(answer: Json) -> str:
    return answer["task"]["artifacts"][0]["parts"][0]["text"]


async def test_http_knows_the_caller_by_its_certificate(
    process: AgentProcess, files: Files
) -> None:
    context = ssl.create_default_context(cafile=files.ca)
    context.load_cert_chain(files.client, files.client_key)
    async with httpx2.AsyncClient(
        base_url=process.url.replace("http:", "https:"),
        headers={"A2A-Version": "1.0"},
        verify=context,
        trust_env=False,
    ) as client:
        # Twice on one connection: what TLS has found out holds for all its requests.
        for text in ("first", "second"):
            sent = await client.post("/message:send", json={"message": message(text)})
            assert said_in(sent.json()) == f"{text} {PERSON}"
        card = (await client.get("/.well-known/agent-card.json")).json()
    assert card["securitySchemes"]["mtls"]["mtlsSecurityScheme"] == {}


async def test_grpc_knows_it_by_the_same_name(process: AgentProcess, files: Files) -> None:
    identity = content_of(files.client_key), content_of(files.client)
    async with Rpcs(process.url, authority=content_of(files.ca), identity=identity) as rpcs:
        answer, _ = await rpcs.unary("SendMessage", {"message": message("hello")})
    assert said_in(answer) == f"hello {PERSON}"
