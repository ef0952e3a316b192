"""SEND: starting and continuing interactions."""

import base64
import json
from typing import Any

import pytest

from tests.cli.calling import Cli, Result
from tests.cli.fake import FakeAgent, Frames, card, task


def parts_of(result: Result) -> list[Any]:
    """The parts that the agent has mirrored."""
    assert result.code == 0, result
    return result.json["task"]["artifacts"][0]["parts"]


def test_send_001_starts_an_interaction(each: Cli) -> None:
    result = each("send", "hello", "-o", "json")
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert parts_of(result) == [{"text": "hello"}]


def test_send_001_reads_the_text_from_standard_input(cli: Cli) -> None:
    assert parts_of(cli("send", "-", "-o", "json", stdin="from a pipe")) == [
        {"text": "from a pipe"}
    ]


def test_send_001_takes_a_whole_request(cli: Cli) -> None:
    message = {"messageId": "m-9", "role": "ROLE_USER", "parts": [{"text": "look"}]}
    request = json.dumps({"message": message, "metadata": {"a": 1}})
    seen = parts_of(cli("send", "--request-payload", request, "-o", "json"))[0]["data"]
    assert (seen["messageId"], seen["metadata"]) == ("m-9", {"a": 1})
    (cli.folder / "request.json").write_text(request)
    assert cli("send", "--request-payload", "request.json").code == 0
    refused = cli("send", "hello", "--request-payload", request)
    assert refused.code == 2
    assert "leave out the text" in refused.err


def test_send_002_waits_by_default(each: Cli) -> None:
    result = each("send", "slow", "-o", "json", "--poll-interval", "0.1s")
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert parts_of(result) == [{"text": "done: slow"}]
    # The ids are told as soon as they are known.
    task_id = result.json["task"]["id"]
    assert result.err.startswith(f"task {task_id} context ")


@pytest.mark.parametrize("flag", ["--async", "--return-immediately", "--no-wait"])
def test_send_002_returns_the_ids_at_once_if_told(each: Cli, flag: str) -> None:
    result = each("send", "forever", flag, "-o", "json")
    assert result.code == 0
    found = result.json["task"]
    assert found["id"]
    assert found["contextId"]
    assert found["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    assert f"Follow: dragoman task get {found['id']} --wait" in result.err
    assert each("task", "cancel", found["id"]).code == 0


def test_send_003_shows_events_as_they_come(each: Cli) -> None:
    events = each("send", "chunks of it", "--stream", "-o", "json").lines
    assert "task" in events[0]
    words = [
        event["artifactUpdate"]["artifact"]["parts"][0]["text"]
        for event in events
        if "artifactUpdate" in event
    ]
    assert "".join(words) == "chunks of it "
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_send_003_does_without_streaming(alone: Cli, fake: FakeAgent) -> None:
    looks = iter(["WORKING", "WORKING", "COMPLETED"])
    fake.answers = {
        "SendMessage": lambda _: {"task": task("SUBMITTED")},
        "GetTask": lambda _: task(next(looks, "COMPLETED")),
    }
    result = alone.to(fake.url)("send", "x", "--stream", "-o", "json", "--poll-interval", "0.1")
    assert result.code == 0
    states = [
        (event.get("task") or event.get("statusUpdate"))["status"]["state"].rpartition("_")[2]
        for event in result.lines
    ]
    assert states == ["SUBMITTED", "WORKING", "COMPLETED", "COMPLETED"]
    assert "task" in result.lines[-1]
    assert not fake.calls("SendStreamingMessage")


def test_send_003_ends_with_a_message(each: Cli) -> None:
    events = each("send", "reply", "--stream", "-o", "json").lines
    assert [event["message"]["parts"][0]["text"] for event in events] == ["You said reply."]
    result = each("send", "reply")
    assert result.code == 0
    assert "  You said reply." in result.out


def test_send_004_shows_every_part(each: Cli) -> None:
    result = each("send", "everything")
    assert "Text:\n  a text\n\n" in result.out
    assert 'Data:\n  {\n    "answer": 42\n  }\n\n' in result.out
    assert "raw.bin (application/x-raw, 3 bytes)" in result.fields("File")
    assert "far.png https://files.example/far.png" in result.fields("File")
    assert len(result.fields("Artifact")) == 4


def test_send_004_saves_the_files(cli: Cli) -> None:
    result = cli("send", "everything", "--save", "got", "-o", "json")
    assert result.code == 0
    assert [path.name for path in (cli.folder / "got").iterdir()] == ["raw.bin"]
    assert (cli.folder / "got" / "raw.bin").read_bytes() == b"\x00\x01\x02"


def test_send_005_a_media_type_belongs_to_the_part_before_it(each: Cli) -> None:
    (each.folder / "a.png").write_bytes(b"not really")
    (each.folder / "b.png").write_bytes(b"guess")
    flags = ("--text", "one", "--file", "a.png", "--media-type", "image/x-mine", "--file", "b.png")
    found = parts_of(each("send", *flags, "-o", "json"))
    assert found == [
        {"text": "one"},
        {
            "raw": base64.b64encode(b"not really").decode(),
            "filename": "a.png",
            "mediaType": "image/x-mine",
        },
        {
            "raw": base64.b64encode(b"guess").decode(),
            "filename": "b.png",
            "mediaType": "image/png",
        },
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--media-type", "text/plain"),
        ("hello", "--media-type", "text/plain"),
        ("--media-type", "text/plain", "--text", "late"),
        ("--text", "a", "--media-type", "a/b", "--media-type", "c/d"),
    ],
)
def test_send_005_a_media_type_without_a_part_is_wrong_usage(
    cli: Cli, arguments: tuple[str, ...]
) -> None:
    result = cli("send", *arguments, "-o", "json")
    assert result.code == 2
    assert result.error["code"] == "A2ACLI_ERR_USAGE"


def test_send_006_part_flags_repeat_and_keep_their_order(each: Cli) -> None:
    (each.folder / "d.json").write_text('{"from": "file"}')
    flags = ("--data", "d.json", "--text", "two", "--data", "-", "--text-part", "four")
    found = parts_of(each("send", "first", *flags, "-o", "json", stdin="[1, null]"))
    assert found == [
        {"text": "first"},
        {"data": {"from": "file"}},
        {"text": "two"},
        {"data": [1, None]},
        {"text": "four"},
    ]


def test_send_006_a_url_is_passed_on_and_not_fetched(cli: Cli) -> None:
    url = "https://files.example/doc.pdf"
    assert parts_of(cli("send", "x", "--file", url, "-o", "json"))[1] == {
        "url": url,
        "mediaType": "application/pdf",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--data", "-", "--data", "-"),
        ("-", "--data", "-"),
        ("--data", "{broken"),
        ("--file", "nowhere.txt"),
    ],
)
def test_send_006_what_cannot_be_sent_is_wrong_usage(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("send", *arguments).code == 2


def test_send_003_a_stream_that_is_refused_is_done_without(alone: Cli, fake: FakeAgent) -> None:
    """The card promises streams, the agent has none: the message is sent again, as the same."""
    fake.card = card(fake.url, capabilities={"streaming": True})
    fake.answers = {"SendMessage": lambda _: {"task": task()}}
    result = alone.to(fake.url)("send", "x", "-o", "json")
    assert result.code == 0
    ids = [each.params["message"]["messageId"] for each in fake.asked if each.method != "card"]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_send_001_an_answer_without_anything_is_a_failure(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, capabilities={"streaming": True})
    fake.answers = {"SendStreamingMessage": lambda _: Frames([])}
    result = alone.to(fake.url)("send", "x", "-o", "json")
    assert result.code != 0
