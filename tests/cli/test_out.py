"""OUT and EXIT: what is printed where, in which form, and what the process ends with."""

import json
import os
import subprocess
import sys

import pytest

from dragoman.cli.errors import EXIT_CODES
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Frames, Refusal, asking_for, card, task
from tests.support.cli.commands import environment

NAMES = {
    "TaskNotFoundError": (-32001, 404, "TASK_NOT_FOUND"),
    "TaskNotCancelableError": (-32002, 400, "TASK_NOT_CANCELABLE"),
    "PushNotificationNotSupportedError": (-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    "UnsupportedOperationError": (-32004, 400, "UNSUPPORTED_OPERATION"),
    "ContentTypeNotSupportedError": (-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
    "InvalidAgentResponseError": (-32006, 500, "INVALID_AGENT_RESPONSE"),
    "ExtendedAgentCardNotConfiguredError": (-32007, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    "ExtensionSupportRequiredError": (-32008, 400, "EXTENSION_SUPPORT_REQUIRED"),
    "VersionNotSupportedError": (-32009, 400, "VERSION_NOT_SUPPORTED"),
}


# --- OUT ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("--stream",), ("-o", "json", "--stream")])
@pytest.mark.parametrize("command", ["send", "get", "cancel", "subscribe"])
def test_out_001_ids_and_state_in_every_form(
    each: Cli, command: str, form: tuple[str, ...]
) -> None:
    known = each("send", "forever", "--async", "-o", "json").json["task"]
    arguments = {
        "send": ("send", "x", "--context-id", known["contextId"]),
        "get": ("task", "get", known["id"]),
        "cancel": ("task", "cancel", known["id"]),
        "subscribe": ("task", "subscribe", known["id"]),
    }[command]
    if command == "subscribe":
        assert each("task", "cancel", known["id"]).code == 0
    result = each(*arguments, *form)
    assert result.code == 0
    assert known["contextId"] in result.out
    assert "TASK_STATE_" in result.out
    if command != "send":
        assert known["id"] in result.out
        assert each("task", "cancel", known["id"]).code == 0
    if "json" in form:
        # Standard output is the payload and nothing else.
        assert all(
            json.loads(line)
            for line in ([result.out] if len(form) == 2 else result.out.splitlines())
        )


def test_out_002_json_is_one_document(each: Cli) -> None:
    result = each("send", "chunks of it", "-o", "json", A2ACLI_STREAM="1")
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert result.out.count("\n") > 3
    assert each("send", "x", "-o", "jsonl").out.count("\n") == 1


def test_out_002_the_bytes_agree_across_bindings(cli: Cli) -> None:
    task_id = cli("send", "everything", "-o", "json").json["task"]["id"]
    shown = {
        cli.speaking(binding)("task", "get", task_id, "-o", "json").out
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
    }
    assert len(shown) == 1


def test_out_003_stream_is_an_object_per_line_and_the_last_is_the_end(each: Cli) -> None:
    lines = each("send", "chunks of it", "-o", "json", "--stream").lines
    assert all(len(line) == 1 for line in lines)
    assert lines[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert len(each("task", "get", "x", "-o", "json", "--stream").lines) == 1


def test_out_003_a_failure_is_the_last_line(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, capabilities={"streaming": True})
    fake.answers = {
        "SendStreamingMessage": lambda _: Frames([{"task": task("WORKING")}], is_cut=True),
        "SubscribeToTask": lambda _: Refusal(-32603, "Internal error"),
    }
    result = alone.to(fake.url)("send", "x", "-o", "json", "--stream")
    assert result.code == 1
    assert [next(iter(line)) for line in result.lines] == ["task", "error"]
    assert result.lines[-1]["error"]["code"] == "InternalError"


def test_out_004_the_real_agent_is_refused_by_the_same_name_on_all_bindings(each: Cli) -> None:
    assert each("task", "get", "no", "-o", "json").error["code"] == "TaskNotFoundError"
    done = each("send", "x", "-o", "json").json["task"]["id"]
    again = each("send", "x", "--task-id", done, "-o", "json")
    assert again.error["code"] == "UnsupportedOperationError"


def test_out_004_wrong_usage_is_told_in_json_too(alone: Cli) -> None:
    for arguments in (("-o", "json", "send"), ("nonsense", "-ojson"), ("send", "--output=json")):
        result = alone(*arguments)
        assert result.code == 2
        assert result.error["code"] == "A2ACLI_ERR_USAGE"
    assert alone("send", A2ACLI_OUTPUT="json").error["code"] == "A2ACLI_ERR_USAGE"


def test_out_004_what_is_no_a2a_is_an_invalid_response(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: {"unexpected": 1}
    result = alone.to(fake.url)("task", "get", "t-1", "-o", "json")
    assert result.error["code"] == "InvalidAgentResponseError"


def test_out_005_text_has_no_control_characters_and_no_false_fields(each: Cli) -> None:
    result = each("send", "hostile")
    assert not [char for char in result.out if ord(char) < 32 and char != "\n"]
    assert "\x9b" not in result.out
    assert "\u202e" not in result.out
    assert len(result.fields("State")) == 1
    assert len(result.fields("Task")) == 1
    assert (
        "Text:\n  [31mred[0m1mback\n  \n  State: TASK_STATE_COMPLETED\n  Task: fake\n" in result.out
    )


def test_out_005_a_terminal_gets_the_same(cli: Cli, stage: str) -> None:
    """On a terminal nothing is coloured, moved or asked."""
    task_id = cli("send", "x", "-o", "json").json["task"]["id"]
    command = [sys.executable, "-m", "dragoman", "task", "get", task_id, "-a", stage]
    reader, writer = os.openpty()
    process = subprocess.run(
        command, cwd=cli.folder, env=environment(), stdout=writer, stdin=writer, check=True
    )
    os.close(writer)
    assert process.returncode == 0
    shown = os.read(reader, 65536).decode().replace("\r\n", "\n")
    os.close(reader)
    assert shown == cli("task", "get", task_id).out


def test_out_006_a_prompt_return_has_both_ids(each: Cli) -> None:
    found = each("send", "forever", "--async", "-o", "json").json["task"]
    assert found["id"]
    assert found["contextId"]
    result = each("send", "forever", "--async")
    assert result.field("Task")
    assert result.field("Context")
    assert result.field("Follow").startswith(f"dragoman task get {result.field('Task')} --wait")
    for task_id in (found["id"], result.field("Task")):
        assert each("task", "cancel", task_id).code == 0


def test_out_007_debug_tells_what_goes_over_the_wire(each: Cli, binding: str) -> None:
    plain = each("send", "hello", "-o", "json")
    result = each("send", "hello", "-o", "json", "--debug")
    assert result.json["task"]["status"] is not None
    assert plain.json.keys() == result.json.keys()
    assert f"* interface {binding} 1.0 " in result.err
    assert "> GET " in result.err
    sent = [line for line in result.err.splitlines() if line.startswith("> {")]
    assert any('"text":"hello"' in line for line in sent)
    received = [line for line in result.err.splitlines() if line.startswith("< ")]
    assert any("TASK_STATE_COMPLETED" in line for line in received)


# --- EXIT -----------------------------------------------------------------------------------------


def test_exit_001_codes_mean_what_they_say(alone: Cli, fake: FakeAgent, stage: str) -> None:
    to_fake = alone.to(fake.url)
    fake.answers["GetTask"] = lambda _: task("WORKING")
    assert alone("card", "get", stage).code == 0
    assert to_fake("task", "cancel", "t-1").code == 1
    assert alone("task", "get").code == 2
    assert alone("card", "get", "http://127.0.0.1:9").code == 3
    assert to_fake("task", "get", "t-1", "--wait", "--timeout", "0.2").code == 5
    fake.answers["GetTask"] = lambda _: Refusal(-31401, "Who?", 401, "UNAUTHENTICATED")
    assert to_fake("task", "get", "t-1").code == 4


@pytest.mark.parametrize("code", [code for code in EXIT_CODES if code.startswith("A2ACLI_ERR_")])
def test_exit_001_every_local_code_is_emitted(alone: Cli, fake: FakeAgent, code: str) -> None:
    fake.card = card(fake.url, **asking_for({"httpAuthSecurityScheme": {"scheme": "Bearer"}}))
    get = ("task", "get", "t-1")
    flags: tuple[str, ...] = ()
    match code:
        case "A2ACLI_ERR_USAGE":
            get = ("task", "get")
        case "A2ACLI_ERR_CARD_NOT_FOUND":
            fake.card_status = 404
        case "A2ACLI_ERR_CARD_INVALID":
            fake.card = {"name": "Half", "supportedInterfaces": 1}
        case "A2ACLI_ERR_UNREACHABLE":
            fake.url = "http://127.0.0.1:9"
        case "A2ACLI_ERR_CREDENTIALS_MISSING":
            fake.answers["GetTask"] = lambda _: Refusal(-31401, "Who?", 401, "UNAUTHENTICATED")
        case "A2ACLI_ERR_AUTH_FAILED":
            fake.answers["GetTask"] = lambda _: Refusal(-31401, "Who?", 401, "UNAUTHENTICATED")
            flags = ("--bearer", "wrong-one")
        case "A2ACLI_ERR_TIMEOUT":
            fake.answers["GetTask"] = lambda _: task("WORKING")
            flags = ("--wait", "--timeout", "0.2s")
        case _:
            other = {"url": "mqtt://x", "protocolBinding": "MQTT", "protocolVersion": "1.0"}
            fake.card = card(fake.url, supportedInterfaces=[other])
    result = alone.to(fake.url)(*get, *flags, "-o", "json")
    assert result.error["code"] == code
    assert result.code == EXIT_CODES[code]


def test_exit_001_every_local_code_has_its_exit_code() -> None:
    assert {name.removeprefix("A2ACLI_ERR_"): code for name, code in EXIT_CODES.items()} == {
        "USAGE": 2,
        "CARD_NOT_FOUND": 3,
        "CARD_INVALID": 1,
        "UNREACHABLE": 3,
        "CREDENTIALS_MISSING": 4,
        "AUTH_FAILED": 4,
        "TIMEOUT": 5,
        "INTERNAL": 1,
        "DRAGOMAN_ERR_INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("fail", "FAILED"),
        ("reject", "REJECTED"),
        ("ask", "INPUT_REQUIRED"),
        ("authorize", "AUTH_REQUIRED"),
    ],
)
def test_exit_002_the_outcome_is_not_in_the_exit_code(each: Cli, text: str, state: str) -> None:
    for form in (("-o", "text"), ("-o", "json"), ("-o", "json", "--stream")):
        result = each("send", text, *form)
        assert result.code == 0
        assert f"Warning: the task is in TASK_STATE_{state}\n" in result.err


def test_a_closed_pipe_ends_the_run_quietly(cli: Cli, stage: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "dragoman", "card", "get", "-a", stage],
        cwd=cli.folder,
        env=environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, b"")
