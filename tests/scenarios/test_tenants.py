"""Tenants: named in path, body or query; only declared ones; each with tasks of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dragoman import UsageError
from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain, expect
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TENANTS = ["acme", "umbrella corp", "ä"]


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent with three tenants beside the default one."""
    async with serving(
        make_agent(tenants=TENANTS), advertise=("grpc",), shutdown_grace_seconds=0
    ) as agent:
        yield agent


def tenant_of(task: Json) -> str:
    """Return the tenant the inspecting skill has seen."""
    return task["artifacts"][0]["parts"][0]["data"]["tenant"]


@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_skill_knows_the_tenant(wire: Binding, tenant: str) -> None:
    assert tenant_of(await wire.task(to("inspect"), tenant=tenant)) == tenant


async def test_without_a_tenant_it_is_the_default_one(wire: Binding) -> None:
    assert tenant_of(await wire.task(to("inspect"))) == ""


@pytest.mark.requirement("R-8.3.1-1")
async def test_the_card_lists_every_tenant_on_every_binding(rest: HttpJson, served: Served) -> None:
    card = (await rest.http.get("/.well-known/agent-card.json")).json()
    assert [
        (item["protocolBinding"], item.get("tenant"))
        for item in card["supportedInterfaces"]
        if item["protocolVersion"] == "1.0"
    ] == [
        (binding, tenant)
        for tenant in (None, *TENANTS)
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
    ]
    urls = {item["url"].rstrip("/") for item in card["supportedInterfaces"]}
    assert urls == {served.url, served.url.removeprefix("http://")}


# --- isolation ----------------------------------------------------------------------------------


async def test_the_task_of_one_tenant_does_not_exist_for_another(wire: Binding) -> None:
    # the same error as for a task that never was.
    task = await wire.task(to("ask"), tenant="acme")
    others: list[Json] = [{}, {"tenant": "umbrella corp"}]
    for other in others:
        await expect("TaskNotFoundError", wire.get_task(task["id"], **other))
        await expect("TaskNotFoundError", wire.cancel_task(task["id"], **other))
        await expect("TaskNotFoundError", drain(wire.subscribe_to_task(task["id"], **other)))
        await expect("TaskNotFoundError", wire.send_message(message(taskId=task["id"]), **other))
    assert await wire.get_task(task["id"], tenant="acme") == task


async def test_a_running_task_does_not_exist_for_another_tenant_either(
    wire: Binding, gate: Gate
) -> None:
    task = await wire.start(to("hold", gate.name), tenant="acme")
    await gate.reached()
    await expect("TaskNotFoundError", wire.cancel_task(task["id"]))
    assert (await wire.cancel_task(task["id"], tenant="acme"))["id"] == task["id"]


async def test_a_cursor_does_not_open_the_task_of_another_tenant(wire: Binding) -> None:
    task = await wire.task(message(), tenant="acme")
    stream = wire.subscribe_to_task(task["id"], headers={"Last-Event-ID": "1"})
    await expect("TaskNotFoundError", drain(stream))


async def test_a_list_shows_the_tasks_of_its_tenant_only(wire: Binding, context: str) -> None:
    tasks = {
        tenant: await wire.task(message(contextId=context), tenant=tenant) for tenant in TENANTS
    }
    for tenant, task in tasks.items():
        page = await wire.list_tasks(contextId=context, tenant=tenant)
        assert [item["id"] for item in page["tasks"]] == [task["id"]]
        assert page["totalSize"] == 1
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


async def test_the_same_message_of_two_tenants_is_two_messages(wire: Binding) -> None:
    sent = message()
    ids = {(await wire.task(sent, tenant=tenant))["id"] for tenant in TENANTS}
    assert len(ids) == len(TENANTS)


# --- who is served ------------------------------------------------------------------------------


@pytest.mark.parametrize("tenant", ["nobody", "Acme", "acme ", "acme/x", "*"])
async def test_a_tenant_that_is_not_declared_is_refused(wire: Binding, tenant: str) -> None:
    problem = await expect("InvalidParamsError", wire.list_tasks(tenant=tenant))
    assert problem.violations == [("tenant", "is not a tenant served here")]


async def test_an_agent_without_tenants_serves_none(kind: type[Binding]) -> None:
    async with serving(make_agent()) as served, kind(served.url) as wire:
        await expect("InvalidParamsError", wire.send_message(message(), tenant="acme"))


@pytest.mark.parametrize(
    "name",
    ["v1", "api", "a2a", "agent", "tasks", "message", "console", "healthz", "readyz", "metrics"],
)
async def test_a_reserved_name_is_no_tenant(rpc: JsonRpc, rest: HttpJson, name: str) -> None:
    response = await rest.http.get(f"/{name}/extendedAgentCard")
    assert response.status_code == 404
    await expect("InvalidParamsError", rpc.list_tasks(tenant=name))
    with pytest.raises(UsageError, match="has a name that our own paths use"):
        make_agent(tenants=[name])


async def test_a_tenant_cannot_be_more_than_one_segment() -> None:
    with pytest.raises(UsageError, match="cannot be a segment of a path"):
        make_agent(tenants=["a/b"])


# --- where the tenant is named over HTTP --------------------------------------------------------


async def send(wire: HttpJson, path: str, **params: object) -> Json:
    response = await wire.http.post(path, json={"message": to("inspect"), **params})
    return wire.result(response)["task"]


@pytest.mark.requirement("R-11.3-1")
async def test_the_tenant_may_be_in_the_path(rest: HttpJson) -> None:
    assert tenant_of(await send(rest, "/acme/message:send")) == "acme"


async def test_the_tenant_may_be_in_the_body(rest: HttpJson) -> None:
    assert tenant_of(await send(rest, "/message:send", tenant="acme")) == "acme"


async def test_the_tenant_may_be_in_the_query(rest: HttpJson) -> None:
    assert tenant_of(await send(rest, "/message:send?tenant=acme")) == "acme"


async def test_the_tenant_may_be_named_twice(rest: HttpJson) -> None:
    assert tenant_of(await send(rest, "/acme/message:send?tenant=acme", tenant="acme")) == "acme"


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/acme/message:send", {"tenant": "ä"}),
        ("/acme/message:send?tenant=%C3%A4", {}),
        ("/message:send?tenant=acme", {"tenant": "ä"}),
    ],
)
async def test_different_tenants_in_one_request_are_refused(
    rest: HttpJson, path: str, params: Json
) -> None:
    problem = await expect("InvalidParamsError", send(rest, path, **params))
    assert problem.violations == [("tenant", "differs between path, query and body")]


@pytest.mark.parametrize("path", ["/acme/tasks", "/tasks?tenant=acme", "/acme/tasks/"])
async def test_a_get_finds_the_tenant_in_path_or_query(
    rest: HttpJson, context: str, path: str
) -> None:
    task = await rest.task(message(contextId=context), tenant="acme")
    separator = "&" if "?" in path else "?"
    response = await rest.http.get(f"{path}{separator}contextId={context}")
    assert [item["id"] for item in response.json()["tasks"]] == [task["id"]]


@pytest.mark.parametrize("path", ["umbrella%20corp", "umbrella+corp"])
async def test_a_tenant_in_the_path_is_percent_encoded(rest: HttpJson, path: str) -> None:
    response = await rest.http.get(f"/{path}/tasks")
    # A plus is a space in a query, and a plus in a path.
    assert response.status_code == (200 if "%20" in path else 400)


@pytest.mark.requirement("R-11.3-1")
async def test_every_route_exists_under_a_tenant(rest: HttpJson) -> None:
    task = await rest.task(to("ask"), tenant="acme")
    base = f"/acme/tasks/{task['id']}"
    assert (await rest.http.get(base)).json() == task
    configs = await rest.http.get(f"{base}/pushNotificationConfigs")
    assert configs.json() == {}
    card = await rest.http.get("/acme/extendedAgentCard")
    assert card.json()["error"]["details"][0]["reason"] == "UNSUPPORTED_OPERATION"
    canceled = await rest.http.post(f"{base}:cancel")
    assert canceled.json()["status"]["state"] == "TASK_STATE_CANCELED"
