"""PUSH_002: a webhook receiver, for as long as the command runs."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from dragoman.clock import SystemClock
from dragoman.push.jwt_signing import sign_jwt
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent
from tests.cli.webhooks import Pushing, deliver, update
from tests.support.serving import free_port

LISTEN = ("task", "push-config", "listen")


def with_token(config: dict[str, Any]) -> dict[str, str]:
    return {"X_A2A_Notification_Token": config["token"]}


@contextmanager
def listening(folder: Path, *arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run the command in a process of its own; yield it and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", *LISTEN, *arguments],
        cwd=folder,
        env={"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder), "no_proxy": "*"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.match(r"Listening: (\S+)", line)
        assert match, line
        yield process, match[1]
    finally:
        process.kill()
        process.communicate()


# --- a task ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_push_002_shows_what_comes_until_the_task_has_ended(
    alone: Cli, fake: FakeAgent, binding: str
) -> None:
    codes: list[int] = []

    def happen(config: dict[str, Any]) -> None:
        url, token = config["url"], with_token(config)
        codes.extend(
            [
                deliver(url, update("WORKING"), **token),
                # Not by the agent; of another task; no event; once more.
                deliver(url, update("FAILED")),
                deliver(url, update("FAILED", "t-2"), **token),
                deliver(url, {"odd": True}, **token),
                deliver(url, update("WORKING"), **token),
                deliver(url, update("COMPLETED"), **token),
            ]
        )

    agent = Pushing(fake, happen)
    result = alone.to(fake.url).speaking(binding)(*LISTEN, "t-1", "-o", "json")
    assert codes == [204, 401, 404, 400, 204, 204]
    assert result.lines == [update("WORKING"), update("COMPLETED")]
    assert result.code == 0
    # The webhook is gone with the command.
    assert agent.kept == {}


def test_push_002_shows_events_as_text(alone: Cli, fake: FakeAgent) -> None:
    def happen(config: dict[str, Any]) -> None:
        old = {"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "failed"}}
        assert deliver(config["url"], old, **with_token(config)) == 204

    Pushing(fake, happen)
    result = alone.to(fake.url)(*LISTEN, "t-1")
    assert result.out.startswith("Event: task\nTask: t-1\nContext: c-1\nState: TASK_STATE_FAILED\n")
    assert "Warning: the task is in TASK_STATE_FAILED" in result.err


def test_push_002_every_webhook_has_a_token_of_its_own(alone: Cli, fake: FakeAgent) -> None:
    configs: list[dict[str, Any]] = []

    def happen(config: dict[str, Any]) -> None:
        configs.append(config)
        assert deliver(config["url"], update("COMPLETED"), **with_token(config)) == 204

    Pushing(fake, happen)
    for _ in range(2):
        result = alone.to(fake.url)(*LISTEN, "t-1")
        assert result.code == 0
        # It is nobody's business but the agent's.
        assert configs[-1]["token"] not in result.out + result.err
    assert len({config["token"] for config in configs}) == 2
    assert all(len(config["token"]) > 40 for config in configs)


def test_push_002_asks_for_the_credentials_that_are_registered(alone: Cli, fake: FakeAgent) -> None:
    codes: list[int] = []

    def happen(config: dict[str, Any]) -> None:
        assert config["authentication"] == {"scheme": "Bearer", "credentials": "s3cret"}
        for shown in ({}, {"Authorization": "Bearer s3cret"}):
            code = deliver(config["url"], update("COMPLETED"), **with_token(config), **shown)
            codes.append(code)

    Pushing(fake, happen)
    flags = ("--auth-scheme", "Bearer", "--auth-credentials", "s3cret")
    assert alone.to(fake.url)(*LISTEN, "t-1", *flags).code == 0
    assert codes == [401, 204]


def test_push_002_asks_for_a_signature(alone: Cli, fake: FakeAgent) -> None:
    key = ECKey.generate_key("P-256")
    keys = {"keys": [{**key.as_dict(private=False), "kid": "k"}]}
    (alone.folder / "keys.json").write_text(json.dumps(keys))
    port = free_port()
    body = json.dumps(update("COMPLETED")).encode()
    codes: list[int] = []

    def happen(config: dict[str, Any]) -> None:
        # Through a tunnel: the agent knows another address than the one that is listened on.
        assert config["url"] == "https://me.example/hook"
        token = sign_jwt(
            body,
            key,
            kid="k",
            url=config["url"],
            task_id="t-1",
            notification_id="n-1",
            now_ms=SystemClock().now_ms(),
        )
        for shown in ({}, {"Authorization": f"Bearer {token}"}):
            url = f"http://127.0.0.1:{port}/"
            codes.append(deliver(url, update("COMPLETED"), **with_token(config), **shown))

    Pushing(fake, happen)
    flags = ("--jwks", "keys.json", "--public-url", "https://me.example/hook")
    result = alone.to(fake.url)(*LISTEN, "t-1", *flags, "--port", str(port))
    assert (codes, result.code) == ([401, 204], 0)
    assert "Listening: https://me.example/hook\n" in result.err


def test_push_002_shows_a_task_that_has_ended_already(alone: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, lambda _: None)
    agent.state = "COMPLETED"
    result = alone.to(fake.url)(*LISTEN, "t-1", "-o", "json")
    assert [event["task"]["id"] for event in result.lines] == ["t-1"]
    assert (result.code, agent.kept) == (0, {})


def test_push_002_is_interrupted_without_leaving_a_webhook(alone: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, lambda _: None)
    with listening(alone.folder, "t-1", "--agent-card", fake.url) as (process, _):
        assert list(agent.kept)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=15)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert agent.kept == {}


# --- any task -------------------------------------------------------------------------------------


def test_push_002_needs_no_agent_to_listen_to_all(alone: Cli) -> None:
    with listening(alone.folder, "-o", "json") as (process, url):
        assert process.stderr is not None
        assert process.stdout is not None
        token = process.stderr.readline().removeprefix("Token: ").strip()
        shown = {"A2A_Notification_Token": token}
        for event in (update("COMPLETED", "t-1"), update("WORKING", "t-2")):
            assert deliver(url, event, **shown) == 204
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=15)
    assert ['"t-1"' in lines[0], '"t-2"' in lines[1], rest] == [True, True, ""]
    # That is how it is ended.
    assert (process.returncode, err) == (0, "")
