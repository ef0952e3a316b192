from typing import Any

from dragoman.agent.children import SubTask
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, asking_for, card, task


def family(fake: FakeAgent, below: dict[str, list[str]]) -> None:
    """Let the agent have tasks that tell of others, which are its own as well."""

    def get(params: Any) -> dict[str, Any]:
        told = [
            {
                "messageId": f"m-{child}",
                "role": "ROLE_AGENT",
                "parts": [{"text": "Asked"}],
                "metadata": SubTask(agent=f"Agent {child}", task_id=child, url=fake.url).metadata(),
            }
            for child in below.get(params["id"], [])
        ]
        return {**task(task_id=params["id"]), "history": told}

    fake.answers["GetTask"] = get


def test_a_tree_is_drawn(cli: Cli, fake: FakeAgent) -> None:
    family(fake, {"t-1": ["t-2", "t-3"], "t-2": ["t-4"]})
    shown = cli("task", "tree", "t-1")
    state = task()["status"]["state"]
    name = shown.out.split(" t-1 ")[0]
    assert shown.out.splitlines() == [
        f"{name} t-1 {state}",
        f"├─ Agent t-2 t-2 {state}",
        f"│  └─ Agent t-4 t-4 {state}",
        f"└─ Agent t-3 t-3 {state}",
    ]


def test_a_tree_is_a_document(cli: Cli, fake: FakeAgent) -> None:
    family(fake, {"t-1": ["t-2"]})
    found = cli("task", "tree", "t-1", "-o", "json").json
    assert [child["taskId"] for child in found["children"]] == ["t-2"]
    assert found["children"][0]["url"] == fake.url


def test_a_circle_is_told_and_ends(cli: Cli, fake: FakeAgent) -> None:
    family(fake, {"t-1": ["t-2"], "t-2": ["t-1"]})
    assert "└─ Agent t-1 t-1  (calls go in a circle)" in cli("task", "tree", "t-1").out


def test_a_child_that_cannot_be_read_is_told(cli: Cli, fake: FakeAgent) -> None:
    family(fake, {"t-1": ["t-2"]})
    inner = fake.answers["GetTask"]
    fake.answers["GetTask"] = lambda params: (
        Refusal(-32001, "Task not found") if params["id"] == "t-2" else inner(params)
    )
    shown = cli("task", "tree", "t-1")
    assert shown.code == 0
    assert "t-2  (Task not found)" in shown.out


def test_credentials_are_not_shown_to_children(cli: Cli, fake: FakeAgent) -> None:
    family(fake, {"t-1": ["t-2"]})
    scheme = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    fake.card = card(fake.url, **asking_for(scheme))
    assert cli("task", "tree", "t-1", A2ACLI_BEARER="secret").code == 0
    root, *children = fake.calls("GetTask")
    assert root.headers["authorization"] == "Bearer secret"
    assert not any("authorization" in child.headers for child in children)
