"""Telling versions apart: by method, header, task and path; lenient and to the letter.

The rows D1 to D20 are those of the 0.x reference, section 6.1; ``strict_versions`` is the option
for who wants their right column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dragoman import UsageError
from tests.scenarios.agents import make_agent
from tests.scenarios.old_wire import (
    V0_1,
    V0_3,
    V1_0,
    V0_3Http,
    data_of,
    refused,
)
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Json


@pytest.fixture(scope="module")
async def strict() -> AsyncIterator[Served]:
    """A server that follows the letter of the text."""
    async with serving(make_agent(), strict_versions=True, max_wait_seconds=5) as agent:
        yield agent


@pytest.fixture(params=["lenient", "strict"])
def either(request: pytest.FixtureRequest, served: Served, strict: Served) -> Served:
    """Both, for the rows whose columns are the same."""
    return strict if request.param == "strict" else served


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_3]:
    async with V0_3(served.url) as speaker:
        yield speaker


async def told(served: Served, method: str, params: Json | None = None, version: str = "") -> Json:
    """Call a method and return the whole answer; "" states no version."""
    headers = {"A2A-Version": version} if version else {}
    envelope = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    async with V0_3(served.url, headers) as speaker:
        return (await speaker.http.post("/", json=envelope)).json()


def form_of(answer: Json) -> str:
    """Tell in which version an answer with a task or an error is."""
    error = answer.get("error")
    if error is not None:
        return "1.0" if isinstance(error.get("data"), list) else "old"
    result = answer["result"]
    if "task" in result or "tasks" in result:
        return "1.0"
    return "0.3" if "kind" in result else "0.1"


# --- the version that is stated -----------------------------------------------------------------


@pytest.mark.parametrize("version", ["", "0.3", "0.1"])
async def test_names_of_1_0_are_enough(served: Served, strict: Served, version: str) -> None:
    # D1, D3
    assert form_of(await told(served, "ListTasks", version=version)) == "1.0"
    answer = await told(strict, "ListTasks", version=version)
    assert (answer["error"]["code"], form_of(answer)) == (-32009, "1.0")


@pytest.mark.parametrize(("method", "form"), [("message/send", "0.3"), ("tasks/send", "0.1")])
async def test_old_names_are_enough(
    old: V0_3, served: Served, strict: Served, method: str, form: str
) -> None:
    # D2
    assert form_of(await told(served, method, old.words("hello"), "1.0")) == form
    answer = await told(strict, method, old.words("hello"), "1.0")
    assert (answer["error"]["code"], form_of(answer)) == (-32601, "1.0")


@pytest.mark.parametrize(
    ("version", "form"),
    [("0.3", "0.3"), ("0.2", "0.3"), ("0.2.5", "0.3"), ("0.1", "0.1"), ("0.1.0", "0.1")],
)
async def test_patches_play_no_part_and_0_2_is_0_3(either: Served, version: str, form: str) -> None:
    # D4
    async with V0_3(either.url) as old:
        sent = await old.send("echo", "hello")
    assert form_of(await told(either, "tasks/get", {"id": sent.id}, version)) == form


@pytest.mark.parametrize("version", ["0.5", "2.0"])
async def test_an_unknown_version_is_refused(
    old: V0_3, served: Served, strict: Served, version: str
) -> None:
    # D5
    for method in ("message/send", "tasks/get", "agent/getAuthenticatedExtendedCard"):
        for server, offered in ((served, "1.0,0.3,0.2,0.1"), (strict, "0.3,0.2,0.1")):
            error = (await told(server, method, old.words("hello"), version))["error"]
            assert error["code"] == -32009
            assert error["data"]["supportedVersions"] == offered
            assert error["data"]["requestedVersion"] == version


@pytest.mark.parametrize("version", ["latest", "v0.3", "0", "0.3, 0.3"])
async def test_an_unreadable_version_is_none(
    old: V0_3, served: Served, strict: Served, version: str
) -> None:
    # D5
    assert form_of(await told(served, "message/send", old.words("hello"), version)) == "0.3"
    answer = await told(strict, "message/send", old.words("hello"), version)
    assert answer["error"]["code"] == -32009


async def test_the_version_may_be_in_the_query(old: V0_3) -> None:
    sent = await old.send("echo", "hello")
    request = old.request("GetTask", {"id": sent.id}, {})
    request.url = request.url.copy_with(query=b"A2A-Version=0.1")
    assert form_of((await old.http.send(request)).json()) == "0.1"


@pytest.mark.parametrize("version", ["0.3", "0.1"])
async def test_what_is_no_request_is_refused_in_the_version_that_is_stated(
    old: V0_3, version: str
) -> None:
    response = await old.http.post("/", content=b"{", headers={"A2A-Version": version})
    assert response.json()["error"]["message"] == "Invalid JSON payload"


# --- the task that is named ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
async def test_a_shared_method_speaks_as_the_task_was_begun(either: Served, method: str) -> None:
    # D6
    async with V0_1(either.url) as older, V0_3(either.url) as old, V0_3Http(either.url) as rest:
        for speaker, form in ((older, "0.1"), (old, "0.3"), (rest, "0.3")):
            made = await speaker.send("ask", "trip")
            assert form_of(await told(either, method, {"id": made.id})) == form
    async with V1_0(either.url, {"A2A-Version": "1.0"}) as new:
        made = await new.send("ask", "trip")
        assert form_of(await told(either, method, {"id": made.id})) == "0.3"


async def test_a_task_of_0_1_is_one_by_any_id(either: Served) -> None:
    # D6
    async with V0_1(either.url) as older, V1_0(either.url, {"A2A-Version": "1.0"}) as new:
        made = await older.send("echo", "hello")
        true_id = (await new.get(made.id)).id
    for task_id in (made.id, true_id):
        answer = await told(either, "tasks/get", {"id": task_id})
        assert (form_of(answer), answer["result"]["id"]) == ("0.1", task_id)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
async def test_an_unknown_task_is_unknown_in_all_old_versions(either: Served, method: str) -> None:
    # D7, and D15: the params of 0.1 do not make it one of 0.1
    params = {"id": "t-unknown", "historyLength": 1}
    answers = [await told(either, method, params, version) for version in ("", "0.1", "0.3")]
    assert [answer["error"]["code"] for answer in answers] == [-32001] * 3
    assert answers[0]["error"] == answers[1]["error"] == answers[2]["error"]


async def test_a_history_length_does_not_make_a_task_one_of_0_1(either: Served) -> None:
    # D15
    async with V0_3(either.url) as old:
        sent = await old.send("echo", "hello")
        params = {"id": sent.id, "historyLength": 1}
        async with old.open("tasks/resubscribe", params) as events:
            assert (await anext(events)).result["kind"] == "task"


# --- envelopes ----------------------------------------------------------------------------------


async def test_batches_are_refused(either: Served) -> None:
    # D17
    async with V0_3(either.url) as old:
        one = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}
        for batch in ([], [one], [one, one]):
            answer = (await old.http.post("/", json=batch)).json()
            assert (answer["error"]["code"], answer["id"]) == (-32600, None)


@pytest.mark.parametrize(
    ("is_strict", "envelope"),
    [
        (False, {}),
        (False, {"id": None}),
        (False, {"jsonrpc": "2.0"}),
        # 8.3: the version of JSON-RPC may be missing by default alone.
        (True, {"jsonrpc": "2.0"}),
        (True, {"jsonrpc": "2.0", "id": None}),
    ],
    ids=repr,
)
async def test_a_request_may_have_no_id(
    served: Served, strict: Served, *, is_strict: bool, envelope: Json
) -> None:
    # D18
    url = strict.url if is_strict else served.url
    async with V0_3(url) as old, V0_1(url) as older:
        for method, params, form in (
            ("message/send", old.words("hello"), "0.3"),
            ("tasks/send", {**older.words("hello"), "id": f"no id {envelope}"}, "0.1"),
            ("message/send", {}, "old"),
        ):
            body = {**envelope, "method": method, "params": params}
            answer = (await old.http.post("/", json=body)).json()
            assert (answer["id"], answer["jsonrpc"], form_of(answer)) == (None, "2.0", form)
        assert answer["error"]["code"] == -32602  # not that of the missing id


# --- HTTP+JSON (section 6.2) --------------------------------------------------------------------


async def test_the_path_tells_the_version(either: Served) -> None:
    async with V0_3Http(either.url) as rest:
        sent = await rest.send("echo", "hello")
        path = f"/tasks/{sent.id}"
        assert "kind" not in (await rest.http.get(f"/v1{path}")).json()["history"][0]
        response = await rest.http.get(path, headers={"A2A-Version": "1.0"})
        assert response.json()["history"][0]["parts"] == [{"text": "hello"}]


async def test_1_0_is_no_version_for_the_routes_of_0_3(served: Served, strict: Served) -> None:
    headers = {"A2A-Version": "1.0"}
    async with V0_3Http(served.url, headers) as rest:
        assert (await rest.send("echo", "hello")).state == "completed"
    async with V0_3Http(strict.url, headers) as rest:
        problem = await refused(-32009, rest.send("echo", "hello"))
        assert problem.http == 400
        assert data_of(problem)["supportedVersions"] == "0.3,0.2,0.1"


async def test_no_tenant_is_called_v1() -> None:
    with pytest.raises(UsageError, match="v1"):
        make_agent(tenants=["v1"])
