import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.errors import CliError
from dragoman.cli.options.options import CONTEXT_ID, METADATA, TASK_ID, TIMEOUT
from dragoman.errors import TaskNotFoundError
from dragoman.model.tasks import TaskState
from tests.cli.fake import FakeAgent, Frames, Refusal, card, task
from tests.support.cli.chatting import Line, chatting, names_in, until


async def shown(folder: Path, *lines: Line, **others: Any) -> str:
    async with chatting(folder, *lines, **others) as desk:
        await desk.chat.run(None)
        assert desk.errors == ""
        return desk.shown


async def test_the_agent_is_named_once(tmp_path: Path) -> None:
    text = await shown(tmp_path, "hello")
    assert re.match(r"Talker 1\.0\.0\nJSONRPC 1\.0 at http://127\.0\.0\.1:\d+/\nTalks\.\n", text)
    assert text.count("Talker") == 1
    assert "  echo hello\n" in text


async def test_the_first_message_may_be_given(tmp_path: Path) -> None:
    async with chatting(tmp_path) as desk:
        await desk.chat.run("hello")
        assert "  echo hello\n" in desk.shown
        assert desk.keyboard.prompts == ["you> "]


async def test_turns_share_a_context_and_begin_tasks_of_their_own(tmp_path: Path) -> None:
    async with chatting(tmp_path, "ids", "ids") as desk:
        await desk.chat.run(None)
        first, second = (exchange.outcome for exchange in desk.chat.conversation.exchanges)
        assert first is not None
        assert second is not None
        assert first.context_id == second.context_id
        assert [exchange.said.task_id for exchange in desk.chat.conversation.exchanges] == ["", ""]
        assert f'"said": "{first.context_id}"' in desk.shown


async def test_an_answer_goes_to_the_task_that_asks(tmp_path: Path) -> None:
    async with chatting(tmp_path, "ask", "Rome", "hello") as desk:
        await desk.chat.run(None)
        asked, answered, after = desk.chat.conversation.exchanges
        assert asked.outcome is not None
        assert (asked.said.task_id, after.said.task_id) == ("", "")
        assert answered.said.task_id == getattr(asked.outcome, "id", None)
        assert desk.keyboard.prompts == ["you> ", "answer> ", "you> ", "you> "]
        assert desk.shown.count("Which city?") == 1
        assert "  you said [Rome]\n" in desk.shown


async def test_a_secret_answer_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    async with chatting(tmp_path, "unlock", "open sesame") as desk:
        await desk.chat.run(None)
        _, answered = desk.chat.conversation.exchanges
        assert desk.keyboard.prompts[:2] == ["you> ", "secret answer> "]
        assert "  11 characters\n" in desk.shown
        assert "what you type is not shown" in desk.shown
        assert answered.said.parts[0].text == "[not shown]"
        assert "sesame" not in desk.shown
        assert b"sesame" not in b"".join(desk.chat.wire)


async def test_a_message_binds_the_context_only(tmp_path: Path) -> None:
    async with chatting(tmp_path, "reply one", "ids") as desk:
        await desk.chat.run(None)
        said = desk.chat.conversation.exchanges[1].said
        assert said.context_id
        assert said.task_id == ""
        assert "  heard reply one\n" in desk.shown


async def test_a_form_is_filled_in_field_by_field(tmp_path: Path) -> None:
    async with chatting(tmp_path, "plan", "Oslo", "many", "5") as desk:
        await desk.chat.run(None)
        assert desk.keyboard.prompts[1:4] == ["city: ", "days: ", "days: "]
        assert "days must be a whole number\n" in desk.shown
        assert "  5 days in Oslo\n" in desk.shown


async def test_a_form_can_be_left_and_opened_again(tmp_path: Path) -> None:
    lines = ("plan", KeyboardInterrupt, "/form", "Oslo", "")
    assert "  3 days in Oslo\n" in await shown(tmp_path, *lines)


async def test_an_empty_answer_is_sent_after_a_question_only(tmp_path: Path) -> None:
    text = await shown(tmp_path, "ask", "", "n", "", "y")
    assert "  you said []\n" in text


async def test_an_empty_line_is_nothing_to_send(tmp_path: Path) -> None:
    async with chatting(tmp_path, "", "  ") as desk:
        await desk.chat.run(None)
        assert desk.chat.conversation.exchanges == []


async def test_two_slashes_send_one(tmp_path: Path) -> None:
    assert "  echo /help\n" in await shown(tmp_path, "//help")


async def test_an_unknown_command_is_not_sent(tmp_path: Path) -> None:
    text = await shown(tmp_path, "/taks")
    assert "there is no command /taks; did you mean /task" in text
    assert "echo" not in text


async def test_the_last_words_are_the_ids_and_a_command_to_go_on(tmp_path: Path) -> None:
    text = await shown(tmp_path, "ask")
    found = re.search(
        r"Task: (\S+)\nContext: (\S+)\nState: TASK_STATE_INPUT_REQUIRED\n"
        r"Resume: dragoman chat --context-id=(\S+) --task-id=(\S+) --agent-card \S+\n$",
        text,
    )
    assert found is not None, text
    assert (found[2], found[1]) == (found[3], found[4])


async def test_who_has_said_nothing_leaves_without_a_word(tmp_path: Path) -> None:
    assert (await shown(tmp_path)).endswith("Ctrl-D leaves\n\n")


async def test_ctrl_c_twice_at_the_prompt_leaves(tmp_path: Path) -> None:
    text = await shown(tmp_path, KeyboardInterrupt, "a", KeyboardInterrupt, KeyboardInterrupt, "b")
    assert "echo a" in text
    assert "echo b" not in text


async def test_ctrl_c_at_work_cancels_the_task(tmp_path: Path) -> None:
    async with chatting(tmp_path, "forever", "hello") as desk, asyncio.TaskGroup() as group:
        group.create_task(desk.chat.run(None))
        await until(lambda: "  one" in desk.shown)
        signal.raise_signal(signal.SIGINT)
        await until(lambda: "the task was canceled\n" in desk.shown)
        # The chat goes on.
        await until(lambda: "  echo hello\n" in desk.shown)


async def test_ctrl_c_twice_at_work_leaves_the_task_as_it_is(tmp_path: Path) -> None:
    async with chatting(tmp_path, "forever", "hello") as desk, asyncio.TaskGroup() as group:
        running = group.create_task(desk.chat.run(None))
        await until(lambda: "  one" in desk.shown)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        await running
        assert "echo hello" not in desk.shown
        # Nothing is proposed to who has left but the commands to go on with.
        assert "/continue" not in desk.shown
        assert re.search(r"Follow: dragoman task get \S+ --wait", desk.shown)


async def test_told_to_end_the_chat_ends(tmp_path: Path) -> None:
    async with chatting(tmp_path, "forever", "hello") as desk, asyncio.TaskGroup() as group:
        running = group.create_task(desk.chat.run(None))
        await until(lambda: "  one" in desk.shown)
        signal.raise_signal(signal.SIGTERM)
        await running
        assert "State: TASK_STATE_WORKING\n" in desk.shown


async def test_a_chat_goes_on_with_a_task_that_waits(tmp_path: Path) -> None:
    async with chatting(tmp_path, "ask") as first:
        await first.chat.run(None)
        asked = first.chat.conversation.task
        assert asked is not None
        url = first.chat.session.card.supported_interfaces[0].url
        options = ((TASK_ID, asked.id), (CONTEXT_ID, asked.context_id))
        async with chatting(tmp_path, "Bern", url=url, options=options) as second:
            await second.chat.run(None)
            assert "  Which city?\n" in second.shown
            assert "  you said [Bern]\n" in second.shown


async def test_a_task_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        async with chatting(tmp_path, options=((TASK_ID, "nothing"),)) as desk:
            await desk.chat.run(None)
    assert caught.value.failure.code == TaskNotFoundError.__name__


async def test_a_failure_does_not_end_the_chat(tmp_path: Path, fake: FakeAgent) -> None:
    answers = [Refusal(-32602, "not now"), {"task": task()}]
    fake.answers["SendMessage"] = lambda _: answers.pop(0)
    async with chatting(tmp_path, "/attach chatted.txt", "a", "b", url=fake.url) as desk:
        (tmp_path / "chatted.txt").write_text("x")
        await desk.chat.run(None)
        assert "Error: not now\nCode: InvalidParamsError\n" in desk.errors
        assert "the task is completed, without a result\n" in desk.shown
    # What was attached has not arrived, so it is sent again; and only then it is used up.
    sent = [len(asked.params["message"]["parts"]) for asked in fake.calls("SendMessage")]
    assert sent == [2, 2]
    assert desk.chat.conversation.attachments == []


async def test_a_stream_that_is_lost_for_good_keeps_the_chat(
    tmp_path: Path, fake: FakeAgent
) -> None:
    fake.card = card(fake.url, capabilities={"streaming": True})
    fake.answers["SendStreamingMessage"] = lambda _: Frames(
        [{"task": task("WORKING")}], is_cut=True
    )
    refusal = Refusal(-32603, "Internal error", 500)
    fake.answers["SubscribeToTask"] = fake.answers["GetTask"] = lambda _: refusal
    async with chatting(tmp_path, "a", url=fake.url) as desk:
        await desk.chat.run(None)
        assert desk.errors.startswith("Error: ")
        assert "the task is working: /continue follows it, /cancel ends it\n" in desk.shown
        assert "Follow: dragoman task get t-1" in desk.shown


async def test_the_time_limit_is_that_of_a_turn(tmp_path: Path) -> None:
    options = ((TIMEOUT, "0.3"),)
    async with chatting(tmp_path, "forever", "hello", options=options) as desk:
        await desk.chat.run(None)
        assert "Error: gave up after 0.3 seconds\n" in desk.errors
        assert "  echo hello\n" in desk.shown


async def test_metadata_goes_with_every_request(tmp_path: Path, fake: FakeAgent) -> None:
    fake.answers["SendMessage"] = lambda _: {"task": task()}
    options = ((METADATA, '{"a": 1}'),)
    await shown(tmp_path, "x", "y", url=fake.url, options=options)
    assert [asked.params["metadata"] for asked in fake.calls("SendMessage")] == [{"a": 1}] * 2


async def test_a_task_that_waits_for_consent_is_told_as_such(tmp_path: Path) -> None:
    async with chatting(tmp_path, "consent", "done") as desk:
        await desk.chat.run(None)
        assert '"url": "https://id.example/"' in desk.shown
        assert "the agent needs an authorization" in desk.shown
        assert "  thanks\n" in desk.shown
        assert desk.chat.conversation.task is not None
        assert desk.chat.conversation.task.status.state is TaskState.COMPLETED


async def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    await shown(tmp_path, "ask", "Rome", "/history", "/raw")
    assert names_in(tmp_path) == []
