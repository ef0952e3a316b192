import re
from pathlib import Path

import pytest

from dragoman.testing.wire import Exchange, Frame, Request, Response, Wire

TASK = "0199b2c4-1d7e-7aaa-8bbb-0123456789ab"


def conversation(task_id: str = TASK, *, text: str = "mint") -> Wire:
    """Return a card that was read, a send that streams, and a task that was asked for."""
    return Wire(
        [
            Exchange(
                request=Request(method="GET", path="/.well-known/agent-card.json"),
                response=Response(status=200, body={"name": "Tea"}),
            ),
            Exchange(
                request=Request(
                    method="POST",
                    path="/",
                    headers={"a2a-version": "1.0", "user-agent": "httpx2/2"},
                    body={"method": "SendStreamingMessage", "params": {"text": text}},
                ),
                response=Response(
                    status=200,
                    headers={"content-type": "text/event-stream", "date": "today"},
                    frames=[
                        Frame(id="1", data={"task": {"id": task_id, "status": {"state": "A"}}}),
                        Frame(data={"statusUpdate": {"taskId": task_id, "status": {"state": "B"}}}),
                    ],
                ),
            ),
            Exchange(request=Request(method="GET", path=f"/tasks/{task_id}?historyLength=1")),
        ]
    )


def test_a_request_is_found_by_what_it_contains() -> None:
    wire = conversation()
    assert wire.assert_sent({"params": {"text": "mint"}}) is wire.exchanges[1]
    assert wire.assert_sent(method="GET") is wire.exchanges[0]
    assert wire.assert_sent(path=f"/tasks/{TASK}") is wire.exchanges[2]
    assert wire.assert_sent(a2a_version="1.0") is wire.exchanges[1]
    assert wire.assert_sent({"method": ...}, method="POST", path="/") is wire.exchanges[1]


def test_a_request_that_is_not_there_is_told_by_what_the_closest_lacks() -> None:
    with pytest.raises(AssertionError) as failure:
        conversation().assert_sent({"method": "SendStreamingMessage", "params": {"text": "green"}})
    assert str(failure.value).splitlines()[:4] == [
        "no request has what is expected; the closest differs:",
        "$.body.params.text is 'mint', not 'green'",
        "in",
        '> POST / {"method": "SendStreamingMessage", "params": {"text": "mint"}}',
    ]


def test_what_is_expected_must_come_together() -> None:
    with pytest.raises(AssertionError, match=re.escape("$.method is 'POST', not 'GET'")):
        conversation().assert_sent({"params": {"text": "mint"}}, method="GET")


def test_an_answer_is_found_by_what_it_or_a_frame_of_it_contains() -> None:
    wire = conversation()
    assert wire.assert_received({"name": "Tea"}) is wire.exchanges[0]
    assert wire.assert_received({"statusUpdate": {"status": {"state": "B"}}}) is wire.exchanges[1]
    with pytest.raises(AssertionError, match=re.escape("$.task.status.state is 'A', not 'C'")):
        wire.assert_received({"task": {"status": {"state": "C"}}})


def test_an_empty_wire_says_so() -> None:
    with pytest.raises(AssertionError, match="nothing was recorded"):
        Wire().assert_sent({})
    with pytest.raises(AssertionError, match="nothing was recorded"):
        Wire().assert_received({})


def test_frames_are_those_of_all_streams() -> None:
    wire = conversation()
    wire.exchanges += conversation("t").exchanges
    assert wire.frames() == [
        {"task": {"id": TASK, "status": {"state": "A"}}},
        {"statusUpdate": {"taskId": TASK, "status": {"state": "B"}}},
        {"task": {"id": "t", "status": {"state": "A"}}},
        {"statusUpdate": {"taskId": "t", "status": {"state": "B"}}},
    ]


def test_it_shows_a_line_for_each_body_and_frame() -> None:
    assert str(conversation("t")) == (
        "> GET /.well-known/agent-card.json\n"
        '< 200 {"name": "Tea"}\n'
        '> POST / {"method": "SendStreamingMessage", "params": {"text": "mint"}}\n'
        "< 200\n"
        '< | {"task": {"id": "t", "status": {"state": "A"}}}\n'
        '< | {"statusUpdate": {"taskId": "t", "status": {"state": "B"}}}\n'
        "> GET /tasks/t?historyLength=1\n"
        "< no answer"
    )


def test_the_text_is_the_same_whatever_the_ids_are() -> None:
    text = conversation().text()
    assert text == conversation("another").text()
    assert "<task-1>" in text
    assert '"/tasks/<task-1>?historyLength=1"' in text


def test_the_text_has_the_headers_of_a2a_alone() -> None:
    text = conversation().text()
    assert '"a2a-version": "1.0"' in text
    assert "user-agent" not in text
    assert "today" not in text


def test_secrets_are_neither_shown_nor_kept() -> None:
    body = {"authentication": {"credentials": "s3cret"}, "token": "s3cret"}
    wire = Wire([Exchange(request=Request(method="POST", path="/", body=body))])
    assert "s3cret" not in wire.text()
    assert "s3cret" not in str(wire)
    assert wire.assert_sent({"token": "s3cret"})


def test_what_was_kept_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tea.json"
    wire = conversation()
    wire.dump(file)
    kept = Wire.load(file)
    assert kept.text() == wire.text()
    assert kept.exchanges[1].request.body == wire.exchanges[1].request.body
    assert kept.exchanges[2].response is None


def test_a_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tea.json"
    file.write_text('[{"request": {"path": "/"}}]')
    with pytest.raises(ValueError, match=r"tea\.json holds no conversation: .*`method`.*\$\[0\]"):
        Wire.load(file)


def test_the_same_conversation_with_other_ids_is_the_one_that_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "tea.json"
    conversation().dump(file)
    conversation("another").assert_golden(file)


def test_another_conversation_is_told_by_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "tea.json"
    conversation().dump(file)
    with pytest.raises(AssertionError) as failure:
        conversation(text="green").assert_golden(str(file))
    lines = [line.strip() for line in str(failure.value).splitlines()]
    assert "another conversation was kept; to keep this one, set UPDATE_WIRE=1" in lines
    assert [line for line in lines if line.startswith(("-  ", "+  "))] == [
        '-          "text": "mint"',
        '+          "text": "green"',
    ]


def test_a_conversation_is_kept_when_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tea.json"
    with pytest.raises(AssertionError, match=r"no .*tea\.json yet: .* with UPDATE_WIRE=1"):
        conversation().assert_golden(file)
    monkeypatch.setenv("UPDATE_WIRE", "1")
    conversation().assert_golden(file)
    monkeypatch.delenv("UPDATE_WIRE")
    conversation().assert_golden(file)
