"""Push notifications of 1.0 over every binding: configs are kept, and webhooks are told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman.model.tasks import TaskState
from tests.durability.waiting import find
from tests.scenarios.agents import Gate, make_agent
from tests.scenarios.bindings import BINDINGS, Binding, Grpc, HttpJson, JsonRpc, drain, expect
from tests.scenarios.webhooks import INNER, SECRET, TOKEN, Hook, hooked
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

CREATE, GET, LIST, DELETE = (
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
)


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent of the scenarios, with webhooks on this machine."""
    async with serving(
        make_agent(),
        shutdown_grace_seconds=0,
        max_wait_seconds=10,
        max_push_configs_per_task=4,
        **INNER,
    ) as agent:
        yield agent


@pytest.fixture(params=(*BINDINGS, Grpc), ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[Binding]:
    """Each binding in turn."""
    return request.param


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    """A webhook."""
    async with hooked() as hook:
        yield hook


def to(skill: str, text: str = "hello", **members: Any) -> Json:
    return message(text, metadata={"skillId": skill}, **members)


def config(hook: Hook, **members: Any) -> Json:
    shown = {"scheme": "Bearer", "credentials": SECRET}
    return {"url": hook.url, "token": TOKEN, "authentication": shown, **members}


async def asking(wire: Binding) -> str:
    """Begin a task that waits for its client, and return its id."""
    return (await wire.task(to("ask")))["id"]


async def create(wire: Binding, task_id: str, hook: Hook, **members: Any) -> Json:
    return await wire.call(CREATE, {**config(hook, **members), "taskId": task_id})


def shown(hook: Hook, task_id: str, config_id: str) -> Json:
    """What is shown of a config: all but its secrets (Q-17)."""
    return {
        "id": config_id,
        "taskId": task_id,
        "url": hook.url,
        "authentication": {"scheme": "Bearer"},
    }


# --- configs ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.5.1-2", "R-T.str-5")
async def test_the_card_promises_push(wire: Binding, served: Served) -> None:
    card = (await wire.http.get(f"{served.url}/.well-known/agent-card.json")).json()
    assert card["capabilities"]["pushNotifications"] is True


@pytest.mark.requirement("R-3.1.7-5", "R-3.1.8-3")
async def test_a_config_is_returned_without_its_secrets(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    made = await create(wire, task_id, hook, id="p-1")
    assert made == shown(hook, task_id, "p-1")
    assert await wire.call(GET, {"taskId": task_id, "id": "p-1"}) == made
    assert await wire.call(LIST, {"taskId": task_id}) == {"configs": [made]}


@pytest.mark.requirement("R-3.1.7-5")
async def test_a_config_without_an_id_gets_one_of_its_own(wire: Binding, hook: Hook) -> None:
    #
    task_id = await asking(wire)
    first, second = [await create(wire, task_id, hook) for _ in range(2)]
    assert first["id"] != second["id"]
    assert task_id not in (first["id"], second["id"])
    assert await wire.call(GET, {"taskId": task_id, "id": second["id"]}) == second


async def test_a_config_of_the_same_id_replaces_the_first(wire: Binding, hook: Hook) -> None:
    #
    task_id = await asking(wire)
    await create(wire, task_id, hook, id="p-1")
    await create(wire, task_id, hook, id="p-1", url=f"{hook.url}/other")
    (left,) = (await wire.call(LIST, {"taskId": task_id}))["configs"]
    assert left["url"] == f"{hook.url}/other"


@pytest.mark.requirement("R-3.1.9-3", "R-3.1.9-4")
async def test_configs_are_listed_in_pages(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    for number in range(4):
        await create(wire, task_id, hook, id=f"p-{number}")
    found: list[str] = []
    token = ""
    while True:
        page = await wire.call(LIST, {"taskId": task_id, "pageSize": 3, "pageToken": token})
        found += [each["id"] for each in page["configs"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert found == ["p-0", "p-1", "p-2", "p-3"]


async def test_a_page_token_is_good_for_its_own_task_only(wire: Binding, hook: Hook) -> None:
    one, other = await asking(wire), await asking(wire)
    for number in range(2):
        await create(wire, one, hook, id=f"p-{number}")
    token = (await wire.call(LIST, {"taskId": one, "pageSize": 1}))["nextPageToken"]
    for params in ({"taskId": other, "pageToken": token}, {"taskId": one, "pageToken": "x"}):
        problem = await expect("InvalidParamsError", wire.call(LIST, params))
        assert problem.violations[0][0] == "pageToken"


@pytest.mark.requirement("R-3.1.10-3", "R-3.1.10-5")
async def test_to_delete_a_config_twice_does_no_harm(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    await create(wire, task_id, hook, id="p-1")
    for _ in range(2):
        assert await wire.call(DELETE, {"taskId": task_id, "id": "p-1"}) == {}
    assert await wire.call(LIST, {"taskId": task_id}) == {}
    await expect("TaskNotFoundError", wire.call(GET, {"taskId": task_id, "id": "p-1"}))


@pytest.mark.requirement("R-3.1.7-2", "R-3.1.8-2", "R-3.1.9-2", "R-3.1.10-2")
@pytest.mark.parametrize("operation", [CREATE, GET, LIST, DELETE])
async def test_a_config_needs_a_task(wire: Binding, hook: Hook, operation: str) -> None:
    named = {} if operation == LIST else {"id": "p-1"}
    given = config(hook) if operation == CREATE else {}
    call = wire.call(operation, {**given, **named, "taskId": "nobody-made-this"})
    problem = await expect("TaskNotFoundError", call)
    assert problem.metadata["taskId"] == "nobody-made-this"


@pytest.mark.requirement("R-3.1.8-2", "R-3.1.8-4")
async def test_a_config_that_there_is_not_is_not_found(wire: Binding) -> None:
    task_id = await asking(wire)
    await expect("TaskNotFoundError", wire.call(GET, {"taskId": task_id, "id": "p-1"}))


async def test_a_config_without_a_task_is_refused(rpc: JsonRpc, hook: Hook) -> None:
    #
    problem = await expect("InvalidParamsError", rpc.call(CREATE, config(hook)))
    assert problem.violations == [("taskId", "is required")]


@pytest.mark.requirement("R-13.2-5", "R-13.2-6", "R-13.2-7", "R-T.str-7")
@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.1/hook",
        "https://169.254.169.254/latest/meta-data",
        "ftp://hooks.example/",
        "https://user@hooks.example/",
    ],
)
async def test_a_url_that_must_not_be_called_is_refused(
    wire: Binding, hook: Hook, url: str
) -> None:
    task_id = await asking(wire)
    problem = await expect("InvalidParamsError", create(wire, task_id, hook, url=url))
    assert [field for field, _ in problem.violations] == ["url"]
    inline = wire.send_message(
        to("echo"), configuration={"taskPushNotificationConfig": config(hook, url=url)}
    )
    await expect("InvalidParamsError", inline)


async def test_a_task_has_only_so_many_configs(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    for number in range(4):
        await create(wire, task_id, hook, id=f"p-{number}")
    problem = await expect("InvalidParamsError", create(wire, task_id, hook))
    assert "4 push notification configs, the most" in problem.message
    # One that is there may still be replaced.
    await create(wire, task_id, hook, id="p-3", url=f"{hook.url}/other")


async def test_a_caller_has_only_so_many_configs(hook: Hook) -> None:
    async with (
        serving(make_agent(), max_push_configs_per_owner=1, **INNER) as served,
        HttpJson(served.url) as wire,
    ):
        task_id = await asking(wire)
        await create(wire, task_id, hook)
        problem = await expect("InvalidParamsError", create(wire, await asking(wire), hook))
        assert "1 push notification configs, the most" in problem.message
        await wire.task(message("Rome", taskId=task_id))
        assert (await hook.until_end())[-1].task_id == task_id
        # What has ended and was told does not count any more, once the store has heard of it.
        another = await asking(wire)
        wish = {**config(hook), "taskId": another}

        async def is_taken() -> bool | None:
            return (await wire.respond(CREATE, wish)).is_success or None

        await find(is_taken)


async def test_an_id_has_only_so_many_characters(rpc: JsonRpc, hook: Hook) -> None:
    task_id = await asking(rpc)
    problem = await expect("InvalidParamsError", create(rpc, task_id, hook, id="x" * 10_000))
    assert problem.violations[0][0] == "id"


# --- notifications ------------------------------------------------------------------------------


@pytest.mark.requirement(
    "R-3.1.7-3", "R-3.1.7-4", "R-4.3.3-1", "R-4.3.3-2", "R-4.3.3-8", "R-3.5.1-3"
)
async def test_a_webhook_is_told_what_follows(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    await create(wire, task_id, hook)
    task = await wire.task(message("Rome", taskId=task_id))
    told = await hook.until_end()
    assert [each.state for each in told] == [TaskState.WORKING, TaskState.COMPLETED]
    assert {each.task_id for each in told} == {task_id}
    assert len({each.id for each in told}) == len(told)
    for post in hook.posts:
        assert post.headers["content-type"] == "application/a2a+json"
        assert post.headers["a2a-version"] == "1.0"
        assert list(post.body) == ["statusUpdate"]
    assert hook.posts[-1].body["statusUpdate"]["status"] == task["status"]


@pytest.mark.requirement("R-4.3.3-3", "R-13.2-1", "R-T.str-8", "R-4.3.2-1")
async def test_a_webhook_is_shown_its_credentials(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    await create(wire, task_id, hook)
    await wire.task(message("Rome", taskId=task_id))
    await hook.until_end()
    for post in hook.posts:
        assert post.headers["authorization"] == f"Bearer {SECRET}"
        #
        assert post.headers["x-a2a-notification-token"] == TOKEN
        assert post.headers["a2a-notification-token"] == TOKEN
        # With the credentials in Authorization, the signature has a header of its own.
        assert post.headers["x-a2a-notification-jwt"].count(".") == 2


@pytest.mark.requirement("R-3.1.7-3")
async def test_a_webhook_that_comes_with_the_message_is_told_everything(
    wire: Binding, hook: Hook
) -> None:
    configuration = {"taskPushNotificationConfig": config(hook)}
    task = await wire.task(to("echo"), configuration=configuration)
    told = await hook.until_end()
    assert [each.state for each in told] == [
        TaskState.SUBMITTED,
        TaskState.WORKING,
        TaskState.COMPLETED,
    ]
    (kept,) = (await wire.call(LIST, {"taskId": task["id"]}))["configs"]
    assert kept == shown(hook, task["id"], kept["id"])


@pytest.mark.requirement("R-3.2.2-8")
async def test_it_makes_no_difference_whether_the_caller_waits(wire: Binding, hook: Hook) -> None:
    configuration = {"taskPushNotificationConfig": config(hook), "returnImmediately": True}
    task = await wire.task(to("echo"), configuration=configuration)
    assert (await hook.until_end())[-1].task_id == task["id"]


async def test_a_webhook_may_come_with_a_stream(wire: Binding, hook: Hook) -> None:
    configuration = {"taskPushNotificationConfig": config(hook)}
    frames = await drain(wire.send_streaming_message(to("echo"), configuration=configuration))
    assert frames
    assert len(await hook.until_end()) == 3


async def test_a_webhook_may_come_with_a_further_message(wire: Binding, hook: Hook) -> None:
    task_id = await asking(wire)
    configuration = {"taskPushNotificationConfig": config(hook)}
    await wire.task(message("Rome", taskId=task_id), configuration=configuration)
    told = await hook.until_end()
    assert [each.state for each in told] == [TaskState.WORKING, TaskState.COMPLETED]


@pytest.mark.requirement("R-3.1.7-6")
async def test_a_webhook_lives_as_long_as_its_task_goes_on(wire: Binding, hook: Hook) -> None:
    task_id = (await wire.task(to("ask_twice")))["id"]
    made = await create(wire, task_id, hook)
    await wire.task(message("one", taskId=task_id))
    assert await wire.call(LIST, {"taskId": task_id}) == {"configs": [made]}
    await wire.task(message("two", taskId=task_id))
    told = await hook.until_end()
    assert [each.state for each in told].count(TaskState.INPUT_REQUIRED) == 1


async def test_the_same_webhook_in_every_message_is_one(wire: Binding, hook: Hook) -> None:
    configuration = {"taskPushNotificationConfig": config(hook)}
    task_id = (await wire.task(to("ask_twice"), configuration=configuration))["id"]
    for answer in ("one", "two"):
        await wire.task(message(answer, taskId=task_id), configuration=configuration)
    told = await hook.until_end()
    assert [each.state for each in told].count(TaskState.COMPLETED) == 1
    assert len((await wire.call(LIST, {"taskId": task_id}))["configs"]) == 1


async def test_a_webhook_of_a_message_that_is_refused_is_not_kept(
    wire: Binding, hook: Hook
) -> None:
    task_id = (await wire.task(to("echo")))["id"]
    configuration = {"taskPushNotificationConfig": config(hook)}
    refused = wire.send_message(message("more", taskId=task_id), configuration=configuration)
    await expect("UnsupportedOperationError", refused)
    assert await wire.call(LIST, {"taskId": task_id}) == {}


@pytest.mark.requirement("R-3.1.10-4")
async def test_a_webhook_that_was_deleted_hears_nothing_more(
    wire: Binding, hook: Hook, gate: Gate
) -> None:
    task = await wire.start(to("silence", gate.name))
    await create(wire, task["id"], hook, id="p-1")
    async with hooked() as witness:
        await create(wire, task["id"], witness, id="p-2")
        await wire.call(DELETE, {"taskId": task["id"], "id": "p-1"})
        gate.open()
        await witness.until_end()
    assert hook.posts == []


@pytest.mark.requirement("R-T.str-6")
async def test_artifacts_and_messages_are_told_by_choice(hook: Hook) -> None:
    events = ("states", "artifacts", "messages")
    async with (
        serving(make_agent(), push_events=events, **INNER) as served,
        HttpJson(served.url) as wire,
    ):
        configuration = {"taskPushNotificationConfig": config(hook)}
        async with wire.send_streaming_message(to("data"), configuration=configuration) as stream:
            seen = [frame.result async for frame in stream]
        await hook.until_end()
    members = [next(iter(post.body)) for post in hook.posts]
    assert "artifactUpdate" in members
    # What a stream shows after its first frame, a webhook is told, too.
    assert [post.body for post in hook.posts][-len(seen[1:]) :] == seen[1:]


async def test_several_webhooks_are_told_alike(rest: HttpJson, hook: Hook) -> None:
    task_id = await asking(rest)
    async with hooked() as other:
        for each in (hook, other):
            await create(rest, task_id, each)
        await rest.task(message("Rome", taskId=task_id))
        told = [[(n.state, n.event) for n in await each.until_end()] for each in (hook, other)]
    assert told[0] == told[1]
