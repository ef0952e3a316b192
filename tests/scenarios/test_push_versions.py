"""Push notifications of the versions before 1.0: each in its own words, on every binding it has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeAlias

import pytest

from dragoman.model.tasks import TaskState
from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Binding
from tests.scenarios.grpc_binding import code_of
from tests.scenarios.guarding import OldGrpc
from tests.scenarios.old_forms import GRAMMAR_PROTO, Saying
from tests.scenarios.old_wire import V0_1, V0_2, V0_3, Speaker, V0_3Http, V0_3Schema, refused
from tests.scenarios.webhooks import INNER, SECRET, TOKEN, Hook, Post, hooked
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

SHOWN: Final = {"schemes": ["Bearer"]}
"""What is shown of credentials: all but the secret (Q-17)."""


def webhook(hook: Hook, **members: object) -> Json:
    given = {**SHOWN, "credentials": SECRET}
    return {"url": hook.url, "token": TOKEN, "authentication": given, **members}


Call: TypeAlias = tuple[str, Json]
"""The name of a method or a route, and its params."""


class Form(ABC):
    """How configs are spoken of in one version on one binding."""

    def __init__(self, kind: type[Binding]) -> None:
        self.kind = kind

    @abstractmethod
    def create(self, task: str, webhook: Json) -> Call: ...

    @abstractmethod
    def get(self, task: str, config_id: str) -> Call: ...

    @abstractmethod
    def every(self, task: str) -> Call: ...

    @abstractmethod
    def delete(self, task: str, config_id: str) -> Call: ...


class RpcForm(Form):
    """JSON-RPC of 0.2 and 0.3."""

    def create(self, task: str, webhook: Json) -> Call:
        params = {"taskId": task, "pushNotificationConfig": webhook}
        return "CreateTaskPushNotificationConfig", params

    def get(self, task: str, config_id: str) -> Call:
        named = {"pushNotificationConfigId": config_id} if config_id else {}
        return "GetTaskPushNotificationConfig", {"id": task, **named}

    def every(self, task: str) -> Call:
        return "ListTaskPushNotificationConfigs", {"id": task}

    def delete(self, task: str, config_id: str) -> Call:
        params = {"id": task, "pushNotificationConfigId": config_id}
        return "DeleteTaskPushNotificationConfig", params


class RestForm(Form):
    """HTTP+JSON of 0.3."""

    def create(self, task: str, webhook: Json) -> Call:
        config = {"pushNotificationConfig": webhook}
        return f"POST {_configs(task)}", {"configId": webhook.get("id", ""), "config": config}

    def get(self, task: str, config_id: str) -> Call:
        return f"GET {_configs(task)}/{config_id}", {}

    def every(self, task: str) -> Call:
        return f"GET {_configs(task)}", {}

    def delete(self, task: str, config_id: str) -> Call:
        return f"DELETE {_configs(task)}/{config_id}", {}


def _configs(task: str) -> str:
    return f"/v1/tasks/{task}/pushNotificationConfigs"


class GrpcForm(Form):
    """gRPC of 0.3."""

    def create(self, task: str, webhook: Json) -> Call:
        config = {"pushNotificationConfig": webhook}
        named = {"parent": f"tasks/{task}", "configId": webhook.get("id", "")}
        return "CreateTaskPushNotificationConfig", {**named, "config": config}

    def get(self, task: str, config_id: str) -> Call:
        return "GetTaskPushNotificationConfig", _named(task, config_id)

    def every(self, task: str) -> Call:
        return "ListTaskPushNotificationConfig", {"parent": f"tasks/{task}"}

    def delete(self, task: str, config_id: str) -> Call:
        return "DeleteTaskPushNotificationConfig", _named(task, config_id)


def _named(task: str, config_id: str) -> Json:
    return {"name": f"tasks/{task}/pushNotificationConfigs/{config_id}"}


FORMS: Final[dict[str, Form]] = {
    "0.2": RpcForm(V0_2),
    "0.3": RpcForm(V0_3),
    "0.3 ProtoJSON": RestForm(V0_3Http),
    "0.3 schema": RestForm(V0_3Schema),
    "0.3 gRPC": GrpcForm(OldGrpc),
}


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent of the scenarios, with webhooks on this machine."""
    async with serving(make_agent(), shutdown_grace_seconds=0, **INNER) as agent:
        yield agent


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with hooked() as hook:
        yield hook


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@pytest.fixture
async def wire(form: Form, served: Served) -> AsyncIterator[Binding]:
    async with form.kind(served.url, {}) as binding:
        yield binding


async def send(
    wire: Binding, skill: str, text: str, task: str = "", options: Mapping[str, Json] = {}
) -> str:
    """Send a message and wait; return the id of the task."""
    saying = Saying(skill, (text,), task_id=task)
    if isinstance(wire, Speaker):
        params = wire.write_send(saying)
    else:
        said = GRAMMAR_PROTO.write_message(saying, messageId=message()["messageId"], taskId=task)
        params = {"message": said, "configuration": {"blocking": True}}
    if options:
        params["configuration"] = {**params["configuration"], **options}
    answer = await wire.call("SendMessage", params)
    return answer.get("task", answer)["id"]


def inner(found: Json) -> Json:
    """Return the webhook inside of an answer."""
    return found["pushNotificationConfig"]


async def every(form: Form, wire: Binding, task: str) -> list[Json]:
    """Return all configs of a task; a list is bare in JSON-RPC and in the schema."""
    listed: Any = await wire.call(*form.every(task))
    return listed["configs"] if form.kind in (V0_3Http, OldGrpc) else listed


def shown_of(hook: Hook, config_id: str) -> Json:
    return {"id": config_id, "url": hook.url, "authentication": SHOWN}


# --- configs ------------------------------------------------------------------------------------


# R02-6.8-1, R03-7.5-1
async def test_a_config_is_kept_shown_and_removed(form: Form, wire: Binding, hook: Hook) -> None:
    task = await send(wire, "ask", "trip")
    made = await wire.call(*form.create(task, webhook(hook, id="p-1")))
    assert inner(made) == shown_of(hook, "p-1")
    assert await wire.call(*form.get(task, "p-1")) == made
    assert await every(form, wire, task) == [made]
    for _ in range(2):
        await wire.call(*form.delete(task, "p-1"))
    code = code_of("NOT_FOUND") if form.kind is OldGrpc else -32001
    await refused(code, wire.call(*form.get(task, "p-1")))


async def test_a_config_without_an_id_is_called_as_its_task(
    form: Form, wire: Binding, hook: Hook
) -> None:
    # 0.x reference, 5.11
    task = await send(wire, "ask", "trip")
    for url in (f"{hook.url}/one", f"{hook.url}/two"):
        await wire.call(*form.create(task, webhook(hook, url=url)))
    assert inner(await wire.call(*form.get(task, task)))["url"] == f"{hook.url}/two"
    assert len(await every(form, wire, task)) == 1


@pytest.mark.parametrize("form", [FORMS["0.2"], FORMS["0.3"]], ids=["0.2", "0.3"])
async def test_whoever_names_no_config_means_that_of_the_task_or_the_oldest(
    form: Form, wire: Binding, hook: Hook
) -> None:
    # 0.x reference, 5.1
    task = await send(wire, "ask", "trip")
    await refused(-32001, wire.call(*form.get(task, "")))
    await wire.call(*form.create(task, webhook(hook, id="p-1")))
    await wire.call(*form.create(task, webhook(hook, id="p-2")))
    assert inner(await wire.call(*form.get(task, "")))["id"] == "p-1"
    await wire.call(*form.create(task, webhook(hook)))
    assert inner(await wire.call(*form.get(task, "")))["id"] == task


# --- notifications ------------------------------------------------------------------------------


def is_task_of_0_3(post: Post, task: str) -> bool:
    body = post.body
    return (body["kind"], body["id"], "statusUpdate" in body) == ("task", task, False)


# R03-9.5-1, R02-9-1
async def test_a_webhook_is_told_the_whole_task(form: Form, wire: Binding, hook: Hook) -> None:
    task = await send(wire, "ask", "trip")
    await wire.call(*form.create(task, webhook(hook)))
    await send(wire, "ask", "Rome", task)
    told = await hook.until_end()
    assert [each.state for each in told] == [TaskState.WORKING, TaskState.COMPLETED]
    assert {each.version for each in told} == {"0.3"}
    assert all(is_task_of_0_3(post, task) for post in hook.posts)
    last = hook.posts[-1]
    assert last.body["artifacts"][0]["parts"][0] == {"kind": "text", "text": "trip: Rome"}
    # Each shows the task as it was then.
    assert "artifacts" not in hook.posts[0].body
    assert last.headers["content-type"] == "application/json"
    assert last.headers["x-a2a-notification-token"] == TOKEN
    assert last.headers["authorization"] == f"Bearer {SECRET}"


async def test_a_webhook_may_come_with_the_message(form: Form, wire: Binding, hook: Hook) -> None:
    is_proto = form.kind in (V0_3Http, OldGrpc)
    member = "pushNotification" if is_proto else "pushNotificationConfig"
    task = await send(wire, "echo", "hello", options={member: webhook(hook)})
    told = await hook.until_end()
    assert [each.state for each in told] == [
        TaskState.SUBMITTED,
        TaskState.WORKING,
        TaskState.COMPLETED,
    ]
    assert all(is_task_of_0_3(post, task) for post in hook.posts)
    assert inner(await wire.call(*form.get(task, task))) == shown_of(hook, task)


# --- 0.1 ----------------------------------------------------------------------------------------


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_1]:
    async with V0_1(served.url) as wire:
        yield wire


# R01-6.8-1, R01-PUSH-2
async def test_0_1_calls_its_task_what_it_will_and_is_told_so(old: V0_1, hook: Hook) -> None:
    task = await send(old, "ask", "trip", "my trip")
    given = {"id": task, "pushNotificationConfig": webhook(hook)}
    made = await old.call("CreateTaskPushNotificationConfig", given)
    # A webhook of 0.1 has no id.
    shown = {"url": hook.url, "authentication": SHOWN}
    assert made == {"id": "my trip", "pushNotificationConfig": shown}
    assert await old.call("GetTaskPushNotificationConfig", {"id": task}) == made
    await send(old, "ask", "Rome", task)
    await hook.until_end()
    for post in hook.posts:
        assert (post.body["id"], post.body["taskId"]) == ("my trip", "my trip")
        assert post.body["eventType"] == "taskUpdate"
        assert post.headers["content-type"] == "application/json"
    assert [post.body["status"]["state"] for post in hook.posts] == ["working", "completed"]


# R01-7.1-3
async def test_0_1_may_bring_its_webhook_with_the_task(old: V0_1, hook: Hook) -> None:
    params = old.write_send(Saying("echo", ("hello",), task_id="my echo"))
    await old.call("SendMessage", {**params, "pushNotification": webhook(hook)})
    await hook.until_end()
    assert {post.body["id"] for post in hook.posts} == {"my echo"}
    found = await old.call("GetTaskPushNotificationConfig", {"id": "my echo"})
    assert inner(found)["url"] == hook.url


# --- together -----------------------------------------------------------------------------------


async def test_every_webhook_of_a_task_is_told_in_its_own_form(served: Served, hook: Hook) -> None:
    async with V0_3(served.url) as newer, V0_1(served.url) as old, hooked() as other:
        task = await send(newer, "ask", "trip")
        await newer.call(*FORMS["0.3"].create(task, webhook(hook, id="p-1")))
        given = {"id": task, "pushNotificationConfig": webhook(other)}
        await old.call("CreateTaskPushNotificationConfig", given)
        await send(newer, "ask", "Rome", task)
        await hook.until_end()
        await other.until_end()
        assert hook.posts[-1].body["kind"] == "task"
        assert other.posts[-1].body["eventType"] == "taskUpdate"
