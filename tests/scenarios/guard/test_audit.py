"""What is written down: a line for every decision, and no secret in any of them."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import pytest

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.auth.incoming.combining import Alternative
from dragoman.auth.incoming.introspection import Introspection
from dragoman.auth.incoming.passwords import hash_password
from dragoman.testing.clock import FakeClock
from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guard.asking import ADA, BOB, ask, begin
from tests.scenarios.guarding import LINES, Ask, Line, call_of, guarded_agent, hear
from tests.scenarios.old_wire import V0_1
from tests.support.auth.issuing import AUDIENCE, Issuer, issuing
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

WRONG_KEY: Final = "a-wrong-key-that-is-secret"


async def test_every_decision_is_written_down_without_the_key(
    wire: Binding, served: Served, audit: pytest.LogCaptureFixture
) -> None:
    foreign = await begin(served, ADA)
    audit.clear()
    await ask(wire, Ask("GetTask", foreign), WRONG_KEY)
    await ask(wire, Ask("GetTask", foreign), BOB)
    await ask(wire, Ask("GetTask", foreign), ADA)
    # Her own task has no such webhook; that looks like a task that is not hers, except in 0.1,
    # which answers with what the task has: nothing.
    await ask(wire, Ask("GetTaskPushNotificationConfig", foreign), ADA)
    last = ("refused", "ada", "GetTaskPushNotificationConfig", "TASK_NOT_FOUND")
    if isinstance(wire, V0_1):
        last = ("accepted", "ada", "ListTaskPushNotificationConfigs", None)
    entries = [record.__dict__["audit"] for record in audit.records]
    assert [
        (entry["outcome"], entry["who"], entry.get("operation"), entry.get("why"))
        for entry in entries
    ] == [
        ("refused", "", None, "UNAUTHENTICATED"),
        ("refused", "bob", "GetTask", "TASK_NOT_FOUND"),
        ("accepted", "ada", "GetTask", None),
        last,
    ]
    for secret in (WRONG_KEY, ADA, BOB):
        assert secret not in audit.text


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/tasks"])
async def test_who_is_kept_out_whoever_it_is_is_written_down_too(
    path: str, audit: pytest.LogCaptureFixture
) -> None:
    async with serving(make_agent()) as closed, HttpJson(closed.url) as client:
        answer = await client.http.get(path, headers={"Host": "evil.example"})
    assert answer.status_code == 403
    [entry] = [record.__dict__["audit"] for record in audit.records]
    assert (entry["outcome"], entry["why"]) == ("refused", "PERMISSION_DENIED")
    assert entry["peer"] == "127.0.0.1"


# --- secrets everywhere -------------------------------------------------------------------------


class Planted(NamedTuple):
    """A secret in one place of a request, and every spelling in which it could turn up."""

    place: str
    spellings: Sequence[str]
    headers: Mapping[str, str] = {}
    query: str = ""
    is_good: bool = False


def basic(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()


QUERY, COOKIE, HEADER, PASSWORD, OPAQUE, CLIENT = (
    f"planted-{name}-7f3a" for name in ("query", "cookie", "header", "password", "opaque", "client")
)
WRONG: Final = "planted-wrong-9c1e"
BODY: Final = "planted-body-2b8d"


def ways_in(issuer: Issuer) -> list[Alternative]:
    """Return every way to show a secret."""
    issuer.answers[OPAQUE] = (200, {"active": True, "sub": "ada"})
    by_query = ApiKeys({QUERY: "ada"}, location="query", parameter="key", name="in-query")
    by_cookie = ApiKeys({COOKIE: "ada"}, location="cookie", parameter="key", name="in-cookie")
    by_token = BearerJwt(
        issuer=issuer.url, audience=AUDIENCE, jwks_url=f"{issuer.url}/jwks", clock=issuer.clock
    )
    asked = Introspection(
        f"{issuer.url}/introspect",
        client_id="agent",
        client_secret=CLIENT,
        name="opaque",
        clock=issuer.clock,
    )
    users = BasicUsers({"ada": hash_password(PASSWORD)})
    return [by_query, by_cookie, ApiKeys({HEADER: "ada"}), users, by_token, asked]


def planted_in(issuer: Issuer) -> list[Planted]:
    """Return secrets that are good, and others that are not, in every place there is."""
    good = issuer.token()
    forged = Issuer(issuer.clock).token(iss=issuer.url)
    cut = good.rpartition(".")[0]
    return [
        Planted("query", [QUERY], query=f"?key={QUERY}", is_good=True),
        Planted("cookie", [COOKIE], {"Cookie": f"key={COOKIE}"}, is_good=True),
        Planted("header", [HEADER], {"X-API-Key": HEADER}, is_good=True),
        Planted("password", *shown_as_basic("ada", PASSWORD), is_good=True),
        Planted("token", good.split("."), {"Authorization": f"Bearer {good}"}, is_good=True),
        Planted("opaque", [OPAQUE, CLIENT], {"Authorization": f"Bearer {OPAQUE}"}, is_good=True),
        Planted("wrong query", [WRONG], query=f"?key={WRONG}"),
        Planted("two keys in a query", [WRONG, QUERY], query=f"?key={WRONG}&key={QUERY}"),
        Planted("unknown member of a query", [WRONG], query=f"?token={WRONG}"),
        Planted("wrong cookie", [WRONG], {"Cookie": f"key={WRONG}; other={WRONG}"}),
        Planted("wrong header", [WRONG], {"X-API-Key": WRONG}),
        Planted("wrong password", *shown_as_basic("ada", WRONG)),
        Planted("wrong user", *shown_as_basic(WRONG, PASSWORD)),
        Planted("forged token", forged.split("."), {"Authorization": f"Bearer {forged}"}),
        Planted("unsigned token", cut.split("."), {"Authorization": f"Bearer {cut}"}),
        Planted("wrong opaque token", [WRONG], {"Authorization": f"Bearer {WRONG}"}),
        Planted("two tokens", [WRONG, OPAQUE], {"Authorization": f"Bearer {WRONG}, {OPAQUE}"}),
        Planted("basic that is none", [WRONG], {"Authorization": f"Basic {WRONG}"}),
        Planted("another scheme", [WRONG], {"Authorization": f"Digest {WRONG}"}),
        Planted("another header", [WRONG], {"X-Auth-Token": WRONG, "Proxy-Authorization": WRONG}),
    ]


def shown_as_basic(user: str, password: str) -> tuple[list[str], dict[str, str]]:
    written = basic(user, password)
    return [written, password], {"Authorization": f"Basic {written}"}


PLACES: Final = [planted.place for planted in planted_in(Issuer(FakeClock()))]


class Vault(NamedTuple):
    """An agent with every way in, and what is shown to it."""

    url: str
    planted: dict[str, Planted]


@pytest.fixture(scope="module")
async def vault() -> AsyncIterator[Vault]:
    """One server for all places."""
    async with issuing(FakeClock()) as issuer:
        agent = guarded_agent(ways_in(issuer))
        async with serving(agent, rate_limit_refusals="") as served:
            yield Vault(served.url, {each.place: each for each in planted_in(issuer)})


def secrets_in(log: pytest.LogCaptureFixture, secrets: Sequence[str]) -> list[str]:
    """Return the secrets that are in anything that anybody has logged, in any attribute of it."""
    formatter = logging.Formatter("%(message)s")
    said = [f"{formatter.format(record)} {record.__dict__!r}" for record in log.records]
    return [secret for secret in secrets if any(secret in line for line in said)]


async def posted(url: str, target: str, headers: Mapping[str, str], body: bytes) -> int:
    """Post over a plain socket, as a client of HTTP would log what it sends; return the status."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = {
        "Host": place.netloc,
        "A2A-Version": "1.0",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **headers,
    }
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    answer = await reader.read()
    writer.close()
    return int(answer.split()[1])


def body_of(binding: str, params: Json) -> tuple[str, bytes]:
    """Return the path and the body of a send."""
    if binding == "HTTP+JSON":
        return "/message:send", json.dumps(params).encode()
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    return "/", json.dumps(envelope).encode()


@pytest.mark.parametrize("binding", ["HTTP+JSON", "JSON-RPC"])
@pytest.mark.parametrize("place", PLACES)
async def test_no_log_has_the_secret_that_a_request_shows(
    vault: Vault, place: str, binding: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    planted = vault.planted[place]
    path, body = body_of(binding, {"message": message(metadata={"skillId": "whoami"})})
    status = await posted(vault.url, f"{path}{planted.query}", planted.headers, body)
    assert status == (200 if planted.is_good else 401)
    # What is looked for would be found: it is decided, and written down, here.
    assert caplog.text.count('"outcome":') == 1
    assert secrets_in(caplog, planted.spellings) == []


GRPC: Final = [line for line in LINES if line.binding == "gRPC"]


@pytest.mark.parametrize("line", GRPC, ids=[line.name for line in GRPC])
@pytest.mark.parametrize("place", [place for place in PLACES if "query" not in place])
async def test_no_log_has_the_secret_that_the_metadata_of_grpc_shows(
    vault: Vault, line: Line, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    planted = vault.planted[place]
    caplog.set_level("DEBUG")
    async with line.connect(vault.url) as wire:
        heard = await hear(wire, *call_of(wire, Ask("ListTasks")), planted.headers)
    assert heard.code == (None if planted.is_good else 16)
    assert caplog.text.count('"outcome":') == 1
    assert secrets_in(caplog, planted.spellings) == []


BODIES: Final[dict[str, Json | bytes]] = {
    "text": {"message": message(BODY)},
    "metadata": {"message": message(metadata={"skillId": "whoami", "token": BODY})},
    "metadata of the request": {"message": message(), "metadata": {"password": BODY}},
    "data": {"message": {**message(), "parts": [{"data": {"secret": BODY}}]}},
    "unknown member": {"message": message(), "credentials": BODY},
    "part that is none": {"message": {**message(), "parts": [{"secret": BODY}]}},
    "role that is none": {"message": {**message(), "role": BODY}},
    "webhook": {
        "message": message(),
        "configuration": {
            "taskPushNotificationConfig": {
                "url": f"https://u:{BODY}@client.example/?key={BODY}",
                "token": BODY,
                "authentication": {"scheme": "Bearer", "credentials": BODY},
            }
        },
    },
    "no object": [BODY],  # pyright: ignore[reportAssignmentType] - that is what is wrong with it
    "no JSON": f'{{"message": {BODY}'.encode(),
    "no text": b'{"message": "\xff' + BODY.encode() + b'"}',
}


@pytest.mark.parametrize("binding", ["HTTP+JSON", "JSON-RPC"])
@pytest.mark.parametrize("name", BODIES)
async def test_no_log_has_the_secret_that_a_body_holds(
    vault: Vault, name: str, binding: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    body = BODIES[name]
    path, written = body_of(binding, {} if isinstance(body, bytes) else body)
    sent = body if isinstance(body, bytes) else written
    status = await posted(vault.url, path, {"X-API-Key": HEADER}, sent)
    assert status in (200, 400)
    assert secrets_in(caplog, [BODY, HEADER]) == []


async def test_a_secret_that_is_logged_would_be_found(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("somebody").warning("refused: %s", "x", extra={"headers": {"k": WRONG}})
    assert secrets_in(caplog, [WRONG, HEADER]) == [WRONG]
