import asyncio
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman import connect
from dragoman.cli.chat.commands import COMMANDS, command_called, likely
from dragoman.model.tasks import TaskState
from tests.cli.fake import FakeAgent
from tests.support.cli.chatting import Line, chatting, names_in, until


async def shown(folder: Path, *lines: Line, **others: Any) -> str:
    async with chatting(folder, *lines, **others) as desk:
        await desk.chat.run(None)
        assert desk.errors == ""
        return desk.shown


def test_a_command_is_found_in_whatever_case() -> None:
    assert command_called("/Help") is COMMANDS[0]
    assert command_called("/nothing") is None
    assert likely("/hlep") == "did you mean /help? "
    assert likely("/xyz") == ""


async def test_help_names_every_command(tmp_path: Path) -> None:
    text = await shown(tmp_path, "/help")
    for command in COMMANDS:
        assert f"\n{command.name} " in text
        assert command.summary in text


async def test_a_file_goes_with_the_next_message_only(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("four")
    async with chatting(tmp_path, "/attach a b.txt", "", "hello") as desk:
        await desk.chat.run(None)
        assert desk.keyboard.prompts == ["you> ", "you (+1)> ", "you> ", "you> "]
        assert "  a b.txt has 4 bytes\n" in desk.shown
        assert "  echo hello\n" in desk.shown


async def test_an_attachment_can_be_an_address_or_taken_back(tmp_path: Path) -> None:
    text = await shown(tmp_path, "/attach https://files.example/x.png", "/attach -", "")
    assert "goes with your next message: https://files.example/x.png\n" in text
    assert "nothing goes with your next message\n" in text


async def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "cannot read none: no such file" in await shown(tmp_path, "/attach none")


async def test_the_files_of_an_answer_are_saved(tmp_path: Path) -> None:
    text = await shown(tmp_path, "give", "/save out", "/save out")
    assert (tmp_path / "out" / "table.csv").read_bytes() == b"a,b"
    # What is there is not overwritten, and nothing is written elsewhere.
    assert (tmp_path / "out" / "table (1).csv").read_bytes() == b"a,b"
    assert names_in(tmp_path) == ["out", "out/table (1).csv", "out/table.csv"]
    assert f"saved {tmp_path / 'out' / 'table.csv'}\n" in text


async def test_an_answer_without_files_is_saved_as_its_text(tmp_path: Path) -> None:
    await shown(tmp_path, "hello", "/save", "reply x", "/save")
    texts = sorted((tmp_path / name).read_text() for name in names_in(tmp_path))
    assert texts == ["echo hello", "heard reply x"]


async def test_without_an_answer_there_is_nothing_to_save(tmp_path: Path) -> None:
    assert "the last answer has nothing to save\n" in await shown(tmp_path, "/save")


async def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot write to " in await shown(tmp_path, "hello", "/save file")


async def test_tasks_are_shown(tmp_path: Path) -> None:
    text = await shown(tmp_path, "hello", "ask", "/tasks", "/task")
    assert text.count("State: TASK_STATE_COMPLETED\n") == 1
    assert text.count("State: TASK_STATE_INPUT_REQUIRED\n") == 3
    assert "2 of 2 tasks of this context\n" in text
    assert "Status message:\n  Which city?\n" in text


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("/task", "there is no task yet"),
        ("/tasks", "there is no context yet"),
        ("/cancel", "there is no task yet"),
        ("/continue", "there is no task yet"),
        ("/form", "the agent asks for no form"),
        ("/raw", "nothing was exchanged yet"),
        ("/skill none", "the card has no skill none"),
    ],
)
async def test_what_is_not_there_is_told(tmp_path: Path, command: str, complaint: str) -> None:
    assert complaint in await shown(tmp_path, command)


async def test_a_task_that_waits_can_be_canceled(tmp_path: Path) -> None:
    async with chatting(tmp_path, "ask", "/cancel", "/cancel", "hello") as desk:
        await desk.chat.run(None)
        assert "the task was canceled\n" in desk.shown
        assert "the task has ended\n" in desk.shown
        assert desk.chat.conversation.exchanges[1].said.task_id == ""


async def test_a_task_that_goes_on_by_itself_is_waited_for(tmp_path: Path) -> None:
    # A2ACLI_AUTH_011: somebody consents elsewhere, and the agent goes on.
    lines = ("consent", "/continue", "/save", "/history")
    async with chatting(tmp_path, *lines) as desk, asyncio.TaskGroup() as group:
        running = group.create_task(desk.chat.run(None))
        await until(lambda: len(desk.keyboard.prompts) == 2)
        asked = desk.chat.conversation.task
        assert asked is not None
        async with connect(desk.chat.session.card.supported_interfaces[0].url) as elsewhere:
            await elsewhere.task(asked.id, asked.context_id).send("done")
        await running
        assert desk.shown.count("Sign in.") == 1
        assert "  thanks\n" in desk.shown
        # It is the answer to the message before.
        assert "Talker:\n  thanks\n" in desk.shown
        assert [(tmp_path / name).read_text() for name in names_in(tmp_path)] == ["thanks"]
        assert desk.chat.conversation.task is not None
        assert desk.chat.conversation.task.status.state is TaskState.COMPLETED


async def test_a_new_conversation_forgets_the_old_one(tmp_path: Path) -> None:
    async with chatting(tmp_path, "ask", "/new", "ids") as desk:
        await desk.chat.run(None)
        first, second = desk.chat.conversation.exchanges
        assert (second.said.context_id, second.said.task_id) == ("", "")
        assert first.outcome is not None
        assert second.outcome is not None
        assert first.outcome.context_id != second.outcome.context_id
        assert "is left as it is: TASK_STATE_INPUT_REQUIRED\n" in desk.shown


async def test_a_skill_is_chosen_until_it_is_taken_back(tmp_path: Path) -> None:
    lines = ("/skill", "/skill reply", "one", "/skill -", "two")
    text = await shown(tmp_path, *lines)
    assert "ask: Ask a question.\n" in text
    assert "  heard one\n" in text
    assert "  echo two\n" in text


async def test_what_was_said_is_shown_again(tmp_path: Path) -> None:
    text = await shown(tmp_path, "hello", "give", "reply x", "/history")
    told = text[text.index("You:\n") :]
    assert told.startswith("You:\n  hello\n\nTalker:\n  echo hello\n\nYou:\n  give\n\nTalker:\n")
    assert "  (raw ../table.csv)\n" in told
    assert "Talker:\n  heard reply x\n" in told


async def test_the_last_exchange_is_shown_as_json(tmp_path: Path) -> None:
    text = await shown(tmp_path, "one", "two", "/raw")
    assert '"text": "two"' in text
    assert '"text": "one"' not in text
    assert re.search(r'"statusUpdate": {\n(.|\n)*"state": "TASK_STATE_COMPLETED"', text)


async def test_quitting_leaves(tmp_path: Path) -> None:
    assert "echo" not in await shown(tmp_path, "/quit", "hello")


async def test_a_command_that_takes_too_long_can_be_interrupted(
    tmp_path: Path, fake: FakeAgent
) -> None:
    asked, done = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hang(_: object) -> object:
        loop.call_soon_threadsafe(asked.set)
        return done.wait(10)

    fake.answers["GetTask"] = hang
    async with chatting(tmp_path, "/task t-9", url=fake.url) as desk, asyncio.TaskGroup() as group:
        running = group.create_task(desk.chat.run(None))
        await asked.wait()
        signal.raise_signal(signal.SIGINT)
        await running
        assert "/task was interrupted\n" in desk.shown
    done.set()
