"""Attacks on an agent that knows its callers by their certificates, over each binding of one port.

What no authority vouches for does not get through TLS; what one does, for somebody who is not
known here, is refused at the door.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import httpx2
import pytest

from tests.scenarios.grpc_binding import Rpcs, StatusError
from tests.scenarios.guard.certificates import CertificateAuthority, Identity
from tests.support.server.certificates import write_files
from tests.support.serving import AgentProcess
from tests.support.wire import Json, message

AGENT: Final = """
from dragoman import Agent, Context
from dragoman.auth.incoming.client_certificates import ClientCertificates

known = {"dns:ada.example": "ada", "dns:bob.example": "bob"}
agent = Agent("Passport", auth=[ClientCertificates(known, owner_prefix="")])


@agent.skill
async def whoami(ctx: Context, text: str) -> str:
    return f"{text} by {ctx.user}"
"""

CHALLENGE: Final = 'ClientCertificate realm="a2a"'
IMPOSTORS: Final = ("nobody", "expired", "of another authority")


class Passport(NamedTuple):
    """An agent that asks for certificates, and those of its callers."""

    url: str
    authority: str
    identities: dict[str, Identity | None]

    def client(self, who: str) -> httpx2.AsyncClient:
        """Return a client of HTTP."""
        context = ssl.create_default_context(cafile=self.authority)
        if identity := self.identities[who]:
            context.load_cert_chain(*identity)
        return httpx2.AsyncClient(
            base_url=self.url,
            headers={"A2A-Version": "1.0"},
            verify=context,
            trust_env=False,
        )

    def rpcs(self, who: str) -> Rpcs:
        """Return a client of gRPC."""
        identity = self.identities[who]
        pair = identity and (
            Path(identity.key).read_bytes(),
            Path(identity.certificate).read_bytes(),
        )
        return Rpcs(self.url, authority=Path(self.authority).read_bytes(), identity=pair)


@pytest.fixture(scope="module")
def passport(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Passport]:
    """One agent for all of them."""
    folder = tmp_path_factory.mktemp("passport")
    (folder / "agent.py").write_text(AGENT)
    own = write_files(folder)
    ours = CertificateAuthority(folder, "ours")
    theirs = CertificateAuthority(folder, "theirs")
    flags = ("--tls-cert", own.server, "--tls-key", own.server_key, "--tls-client-ca", ours.path)
    with AgentProcess(folder / "agent.py", *flags, "--store", "memory:") as process:
        yield Passport(
            process.url.replace("http:", "https:"),
            own.ca,
            {
                "ada": ours.certify("ada.example"),
                "bob": ours.certify("bob.example"),
                "eve": ours.certify("eve.example"),
                "nobody": None,
                "expired": ours.certify("ada.example", ends=-timedelta(days=2)),
                "of another authority": theirs.certify("ada.example"),
            },
        )


def jsonrpc(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def test_each_caller_has_its_own(passport: Passport) -> None:
    async with passport.client("ada") as ada, passport.client("bob") as bob:
        sent = (await ada.post("/message:send", json={"message": message("sent")})).json()["task"]
        assert sent["artifacts"][0]["parts"] == [{"text": "sent by ada"}]
        assert (await ada.get(f"/tasks/{sent['id']}")).status_code == 200
        assert (await bob.get(f"/tasks/{sent['id']}")).status_code == 404
    async with passport.rpcs("ada") as ada, passport.rpcs("bob") as bob:
        assert (await ada.unary("GetTask", {"id": sent["id"]})).value["id"] == sent["id"]
        with pytest.raises(StatusError) as caught:
            await bob.unary("GetTask", {"id": sent["id"]})
    assert caught.value.name == "NOT_FOUND"


async def test_who_is_vouched_for_and_not_known_is_refused_at_the_door(passport: Passport) -> None:
    sent: Json = {"message": message("hello")}
    async with passport.client("eve") as eve:
        assert (await eve.get("/.well-known/agent-card.json")).status_code == 200
        refusals = [
            await eve.post("/message:send", json=sent),
            await eve.post("/", json=jsonrpc("SendMessage", sent)),
            await eve.post("/v1/message:send", json={}),
        ]
    for refusal in refusals:
        assert (refusal.status_code, refusal.headers["www-authenticate"]) == (401, CHALLENGE)
    async with passport.rpcs("eve") as rpcs:
        with pytest.raises(StatusError) as caught:
            await rpcs.unary("SendMessage", sent)
    assert caught.value.name == "UNAUTHENTICATED"
    # The name in the certificate is for the log.
    told = [refusal.text for refusal in refusals] + [caught.value.message]
    assert not [text for text in told if "eve" in text]


@pytest.mark.parametrize("who", IMPOSTORS)
async def test_whom_no_authority_vouches_for_does_not_get_through_tls(
    passport: Passport, who: str
) -> None:
    async with passport.client(who) as impostor:
        for path in ("/.well-known/agent-card.json", "/tasks"):
            with pytest.raises(httpx2.TransportError):
                await impostor.get(path)
    async with passport.rpcs(who) as rpcs:
        with pytest.raises(StatusError) as caught:
            await rpcs.raw("SendMessage", b"")
    assert caught.value.name == "UNAVAILABLE"
    # It is not the agent that is gone.
    async with passport.client("ada") as ada:
        assert (await ada.get("/tasks")).status_code == 200
