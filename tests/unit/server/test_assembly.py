"""What an application is made of. That it then works is shown by the scenarios."""

import pytest

from dragoman.errors import UsageError
from dragoman.server.assembly import build_service_app
from tests.support.server.in_process import Client, echo_agent
from tests.support.services import CannedService


async def test_a_service_is_ready_between_start_and_stop() -> None:
    app = build_service_app(CannedService("x"), echo_agent(), {})
    client = Client(app)
    assert (await client.request("GET", "/readyz")).status == 503
    await app.runtime.start()
    assert (await client.request("GET", "/readyz")).status == 200
    await app.runtime.stop()
    assert (await client.request("GET", "/readyz")).status == 503


async def test_a_service_that_nobody_has_started_is_started_by_the_first_request() -> None:
    app = build_service_app(CannedService("x"), echo_agent(), {})
    assert app.runtime.started is None
    listed = await Client(app).rpc("ListTasks", {})
    assert listed.json["result"]["totalSize"] == 0
    assert app.runtime.is_ready
    await app.runtime.stop()


async def test_a_service_has_neither_metrics_nor_keys_of_its_own() -> None:
    client = Client(build_service_app(CannedService("x"), echo_agent(), {}))
    for path in ("/metrics", "/.well-known/jwks.json"):
        assert (await client.request("GET", path)).status == 404


async def test_origins_tell_the_dialect_of_shared_methods() -> None:
    service = CannedService("x")
    client = Client(build_service_app(service, echo_agent(), {}, origins=service))
    sent = {"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}}
    await client.rpc("tasks/send", sent, a2a_version="")
    got = (await client.rpc("tasks/get", {"id": "t-1"}, a2a_version="")).json["result"]
    assert "kind" not in got
    assert got["artifacts"][0]["parts"] == [{"type": "text", "text": "x"}]


async def test_without_origins_shared_methods_are_those_of_0_3() -> None:
    client = Client(build_service_app(CannedService("x"), echo_agent(), {}))
    sent = {"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}}
    await client.rpc("tasks/send", sent, a2a_version="")
    got = (await client.rpc("tasks/get", {"id": "t-1"}, a2a_version="")).json["result"]
    assert got["kind"] == "task"


def test_a_wrong_setting_is_told() -> None:
    with pytest.raises(UsageError, match="--max-parts"):
        build_service_app(CannedService("x"), echo_agent(), {"max_parts": 0})
