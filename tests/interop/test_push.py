"""Webhooks of the official SDKs: registered by their clients, told by our server, read by them.

One process of each SDK plays the scenario ``push_config`` with our server, for a binding.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, cast

import pytest

from tests.interop.environments import PEERS, environment
from tests.interop.playing import Saw
from tests.interop.refusals import assert_refused
from tests.interop.test_peers import ALL, NEW, OLD, OLDEST_IN_PROTOBUF, over_all_bindings
from tests.support.receivers import ReceiverProcess, Request
from tests.support.serving import AgentProcess
from tests.support.wire import Json

pytestmark = [
    pytest.mark.interop,
    # The first test of a peer may have to install it.
    pytest.mark.timeout(600),
]

AGENT: Final = Path(__file__).with_name("agent.py")
WITH_EVERY_CALL: Final = [*over_all_bindings("js_0_3"), *NEW]
"""The Python SDKs before 1.0 have no calls to list and to delete."""

_PATIENCE_SECONDS: Final = 15

IN_PYTHON: Final = [peer for peer in ALL if peer.startswith("py")]


def of(*peers: str) -> pytest.MarkDecorator:
    """Run a test with what these peers saw, instead of with all."""
    return pytest.mark.parametrize("told", peers, indirect=True)


class Told(NamedTuple):
    """What a peer saw of its webhooks, and what came to the one that it named in a send."""

    peer: str
    saw: Json
    requests: list[Request]

    @property
    def notifications(self) -> list[Json]:
        return [request.body for request in self.requests]


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    with ReceiverProcess(tmp_path_factory.mktemp("receiver")) as receiver:
        yield receiver


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    flags = ("--push-allow-http", "--push-allow-hosts", "127.0.0.1:*", "--advertise", "grpc")
    with AgentProcess(AGENT, "--store", "memory:", *flags) as process:
        yield process.url


@pytest.fixture(scope="module", params=ALL)
def told(
    request: pytest.FixtureRequest,
    play: Callable[..., Saw],
    url: str,
    receiver: ReceiverProcess,
) -> Told:
    peer, binding = request.param.split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "HOOK", receiver.url)
        saw = play(peer, url, binding, "push_config")("push_config")
    path = f"/{peer}-{binding}"
    _wait_for_end(receiver, path)
    return Told(peer, saw, receiver.requests(path))


def _wait_for_end(receiver: ReceiverProcess, path: str) -> None:
    """Wait until the end of the task was told."""
    until = monotonic() + _PATIENCE_SECONDS
    while monotonic() < until:
        if any("completed" in each.text.lower() for each in receiver.requests(path)):
            return
        sleep(0.02)


def config_of(result: Json) -> Json:
    """Return a webhook, out of what older versions have around it."""
    return result.get("pushNotificationConfig", result)


def listed(result: Any) -> list[str]:
    """Return the ids of the webhooks that were listed."""
    found = cast("list[Json]", result if isinstance(result, list) else result.get("configs", []))
    return [config_of(each)["id"] for each in found]


# --- the calls ----------------------------------------------------------------------------------


@of(*(peer for peer in ALL if peer != OLDEST_IN_PROTOBUF))
@pytest.mark.parametrize("call", ["create", "get"])
def test_a_webhook_is_registered_and_shown_but_for_its_secrets(told: Told, call: str) -> None:
    result: Json = told.saw[call]["result"]
    assert config_of(result)["url"].endswith(told.requests[0].path)
    assert config_of(result)["id"] == "c-1"
    assert "secret" not in json.dumps(result)


@of(OLDEST_IN_PROTOBUF)
@pytest.mark.parametrize("call", ["create", "get"])
def test_a_call_that_names_no_task_is_refused(told: Told, call: str) -> None:
    # 0.2.16 leaves the parent out, and gets "undefined". Its own server refuses the same.
    assert_refused(told.saw[call], "InvalidParamsError")


@of(*WITH_EVERY_CALL)
def test_webhooks_are_listed_but_for_their_secrets(told: Told) -> None:
    result = told.saw["list"]["result"]
    assert listed(result) == ["c-1"]
    assert "secret" not in json.dumps(result)


@of(*WITH_EVERY_CALL)
def test_a_webhook_that_is_deleted_is_gone(told: Told) -> None:
    # What is empty is left out of what older SDKs saw.
    after = told.saw.get("list_after", {})
    assert {"error", "code", "grpc", "http"}.isdisjoint(after)
    assert listed(after.get("result", [])) == []


# --- what they are told -------------------------------------------------------------------------


@of(*NEW)
def test_a_webhook_of_1_0_is_told_of_events(told: Told) -> None:
    assert [each.state for each in told.requests] == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert {each.headers["content-type"] for each in told.requests} == {"application/a2a+json"}
    assert {each.headers["a2a-version"] for each in told.requests} == {"1.0"}


@of(*OLD)
def test_a_webhook_of_older_versions_is_told_of_the_task(told: Told) -> None:
    assert {each["kind"] for each in told.notifications} == {"task"}
    states = [each["status"]["state"] for each in told.notifications]
    assert states == ["submitted", "working", "completed"]
    assert told.notifications[-1]["artifacts"][0]["parts"] == [{"kind": "text", "text": "HI"}]
    assert {each.headers["content-type"] for each in told.requests} == {"application/json"}


@of(*IN_PYTHON)
def test_an_sdk_reads_the_notifications_that_it_has_asked_for(told: Told) -> None:
    command, folder = environment(told.peer)
    done = subprocess.run(
        [*command, str(PEERS / "notified.py")],
        cwd=folder,
        input=json.dumps([request.text for request in told.requests]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # All of it, and nothing else.
    assert [_without_empty(each) for each in json.loads(done.stdout)] == [
        _without_empty(each) for each in told.notifications
    ]


def _without_empty(value: Any) -> Any:
    """Leave out what is empty: some SDKs show such members, and others do not."""
    if isinstance(value, dict):
        members = {name: _without_empty(each) for name, each in cast("Json", value).items()}
        return {name: each for name, each in members.items() if each not in ("", [], {}, None)}
    if isinstance(value, list):
        return [_without_empty(each) for each in cast("list[Any]", value)]
    return value


# --- where there are none -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def silent_url() -> Iterator[str]:
    flags = ("--no-push", "--advertise", "grpc")
    with AgentProcess(AGENT, "--store", "memory:", *flags) as process:
        yield process.url


@pytest.fixture(scope="module", params=ALL)
def refused(request: pytest.FixtureRequest, play: Callable[..., Saw], silent_url: str) -> Saw:
    peer, binding = request.param.split()
    return play(peer, silent_url, binding, "push_config")


@pytest.mark.parametrize("call", ["create", "get", "in_send"])
def test_webhooks_are_refused_while_the_card_promises_none(refused: Saw, call: str) -> None:
    assert_refused(refused("push_config")[call], "PushNotificationNotSupportedError")


@pytest.mark.parametrize("refused", WITH_EVERY_CALL, indirect=True)
@pytest.mark.parametrize("call", ["list", "delete"])
def test_other_calls_are_refused_while_the_card_promises_none(refused: Saw, call: str) -> None:
    assert_refused(refused("push_config")[call], "PushNotificationNotSupportedError")
