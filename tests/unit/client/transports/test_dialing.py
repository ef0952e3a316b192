import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import Bearer
from dragoman.auth.outgoing.errors import MissingCredentialsError
from dragoman.client.transports.dialing import Dialer
from dragoman.client.transports.grpc import GrpcTransport
from dragoman.client.transports.http import HttpTransport
from dragoman.client.transports.tls import Tls
from dragoman.model.operations import GetTaskRequest, Operation
from dragoman.model.security import (
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.client.fakes import Web, card, offer, web_pool
from tests.support.server.certificates import write_files

TOKEN = "s3"  # noqa: S105 - no secret

STATES = {"1.0": "TASK_STATE_WORKING", "0.3": "working", "0.1": "working"}


def answer(version: str) -> httpx2.Response:
    result = {"id": "t", "status": {"state": STATES[version]}}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})


def dialer_of(web: Web, **options: Any) -> Dialer:
    given: dict[str, Any] = {"own_origin": "http://localhost:80", "headers": {}, "held": None}
    return Dialer(options.pop("card", card()), web_pool(web), Tls(), **{**given, **options})


@pytest.mark.parametrize(
    ("version", "method"), [("1.0", "GetTask"), ("0.3", "tasks/get"), ("0.1", "tasks/get")]
)
async def test_json_rpc_is_spoken_in_the_dialect_of_the_offer(version: str, method: str) -> None:
    web = Web(lambda _: answer(version))
    transport = dialer_of(web).open(offer(version))
    assert isinstance(transport, HttpTransport)
    await transport.call(Operation.GET_TASK, GetTaskRequest(id="t"), ())
    assert web.body["method"] == method


@pytest.mark.parametrize(
    ("version", "form", "state"),
    [
        ("1.0", "1.0", "TASK_STATE_WORKING"),
        ("0.3", "0.3-proto", "TASK_STATE_WORKING"),
        ("0.3", "0.3", "working"),
    ],
)
async def test_so_is_http_json(version: str, form: str, state: str) -> None:
    web = Web(lambda _: httpx2.Response(200, json={"id": "t", "status": {"state": state}}))
    chosen = offer(version, "http://agent.test", binding="HTTP+JSON", form=form)
    await dialer_of(web).open(chosen).call(Operation.GET_TASK, GetTaskRequest(id="t"), ())
    assert web.last.url.path == "/tasks/t"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_so_is_grpc(version: str) -> None:
    chosen = offer(version, "http://localhost:1", binding="GRPC")
    transport = dialer_of(Web(lambda _: httpx2.Response(500))).open(chosen)
    assert isinstance(transport, GrpcTransport)
    await transport.aclose()


def secured(scheme: SecurityScheme) -> Any:
    requirement = SecurityRequirement(schemes={"s": StringList()})
    return replace(card(), security_schemes={"s": scheme}, security_requirements=(requirement,))


@pytest.mark.requirement("R-7.3-1", "R-T.ent-2")
async def test_credentials_are_chosen_by_the_card() -> None:
    web = Web(lambda _: answer("1.0"))
    bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
    dialer = dialer_of(web, card=secured(bearer), held=Bearer(token=TOKEN), headers={"X": "y"})
    transport = dialer.open(offer(url="http://localhost/rpc"))
    await transport.call(Operation.GET_TASK, GetTaskRequest(id="t"), ())
    assert web.last.headers["authorization"] == f"Bearer {TOKEN}"
    assert web.last.headers["x"] == "y"


def test_credentials_that_do_not_do_are_told_before_anything_is_sent() -> None:
    web = Web(lambda _: httpx2.Response(500))
    mutual = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())
    dialer = dialer_of(web, card=secured(mutual), held=Bearer(token=TOKEN))
    with pytest.raises(MissingCredentialsError):
        dialer.open(offer(url="http://localhost/rpc"))
    assert web.requests == []


def test_a_credential_that_is_not_sent_is_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    web = Web(lambda _: httpx2.Response(500))
    with caplog.at_level(logging.WARNING):
        dialer_of(web, held=Bearer(token=TOKEN)).open(offer(url="http://elsewhere.test/rpc"))
    assert "a credential is not sent" in caplog.text
    assert TOKEN not in caplog.text


async def test_a_certificate_is_shown_on_connections_of_its_own(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    mutual = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())
    shown = ClientCertificate(certificate=files.client, key=files.client_key)
    web = Web(lambda _: httpx2.Response(500))
    dialer = dialer_of(web, card=secured(mutual), held=shown, own_origin="https://localhost:443")
    transport = dialer.open(offer(url="https://localhost/rpc"))
    with pytest.raises(Exception, match="localhost"):
        await transport.call(Operation.GET_TASK, GetTaskRequest(id="t"), ())
    assert web.requests == []
    await dialer.aclose()
