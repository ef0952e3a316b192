import io

import pytest
from rich.console import Console

from dragoman.cli.chat.view import View, console_on
from dragoman.cli.views.labels import Lines
from dragoman.extensions.agent_tools.exchange import ToolUse
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eback\r\nyou> rm"


class Shown:
    """A view on a terminal of 80 columns that takes no control codes."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        self.view = View(Console(file=self._file, width=80))

    @property
    def text(self) -> str:
        return self._file.getvalue()


@pytest.fixture
def shown() -> Shown:
    return Shown()


def said(*parts: Part) -> Message:
    return Message(message_id="m", role=Role.AGENT, parts=parts)


def status(state: TaskState, *parts: Part) -> StreamResponse:
    update = TaskStatusUpdateEvent(
        task_id="t",
        context_id="c",
        status=TaskStatus(state=state, message=said(*parts) if parts else None),
    )
    return StreamResponse(status_update=update)


def chunk(*parts: Part, append: bool = True, name: str = "", key: str = "a") -> StreamResponse:
    artifact = Artifact(artifact_id=key, name=name, parts=parts)
    update = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=append)
    return StreamResponse(artifact_update=update)


def task(state: TaskState, *artifacts: Artifact) -> Task:
    return Task(id="t", context_id="c", status=TaskStatus(state=state), artifacts=artifacts)


def test_the_pieces_of_a_text_follow_each_other(shown: Shown) -> None:
    for number, piece in enumerate(("one ", "two\nthr", "ee")):
        shown.view.show(chunk(Part(text=piece), append=bool(number)))
    shown.view.settle()
    assert shown.text == "  one two\n  three\n"


def test_a_piece_is_shown_when_it_comes(shown: Shown) -> None:
    shown.view.show(chunk(Part(text="half a li"), append=False))
    assert shown.text == "  half a li"


def test_what_an_agent_says_is_indented_and_cannot_steer_the_terminal(shown: Shown) -> None:
    hostile = Part(text=HOSTILE)
    events = (
        StreamResponse(message=said(hostile, Part(data={HOSTILE: HOSTILE}))),
        status(TaskState.WORKING, hostile),
        chunk(hostile, Part(url=f"https://x/{HOSTILE}", filename=HOSTILE), name=HOSTILE),
        StreamResponse(task=task(TaskState.WORKING, Artifact(artifact_id="b", parts=(hostile,)))),
    )
    for event in events:
        shown.view.show(event)
    shown.view.settle()
    assert all(line.startswith("  ") for line in shown.text.splitlines() if line)
    assert not set(shown.text) & set("\x1b\x07\x9b\r\u202e")
    assert shown.text.count("rm") >= len(events)


def test_what_the_program_says_of_an_agent_cannot_steer_the_terminal(shown: Shown) -> None:
    card = AgentCard(
        name=HOSTILE,
        description=HOSTILE,
        version="1",
        supported_interfaces=(),
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    interface = AgentInterface(
        url="https://agent.example/", protocol_binding="GRPC", protocol_version="0.3"
    )
    shown.view.welcome(card, interface)
    assert not set(shown.text) & set("\x1b\x07\x9b\r\u202e")
    assert "GRPC 0.3 at https://agent.example/\n" in shown.text
    assert len(shown.text.splitlines()) == 4


def test_a_status_stands_on_lines_of_its_own(shown: Shown) -> None:
    shown.view.show(chunk(Part(text="one "), append=False))
    shown.view.show(status(TaskState.WORKING, Part(text="half done")))
    shown.view.show(chunk(Part(text="two")))
    shown.view.settle()
    assert shown.text == "  one \n  half done\n  two\n"


def test_an_artifact_is_named_where_it_begins(shown: Shown) -> None:
    shown.view.show(chunk(Part(text="1"), name="first", append=False))
    shown.view.show(chunk(Part(text="2"), name="first"))
    shown.view.show(chunk(Part(text="3"), name="second", key="b", append=False))
    shown.view.show(chunk(Part(text="4"), name="first", append=False))
    shown.view.settle()
    again = "  first (again, from its beginning)\n  4\n"
    assert shown.text == f"  first\n  12\n  second\n  3\n{again}"


def test_data_is_laid_out(shown: Shown) -> None:
    shown.view.show(chunk(Part(text="so:"), Part(data={"a": [1]}), append=False))
    assert shown.text == '  so:\n  {\n    "a": [1]\n  }\n'.replace("[1]", "[\n      1\n    ]")


def test_a_tool_that_is_asked_for_is_named(shown: Shown) -> None:
    use = ToolUse(tool_use_id="u-1", name="look", input={"a": 1})
    shown.view.show(chunk(Part(text="Please"), use.part(), append=False))
    assert shown.text == '  Please\n  wants the tool look, with\n  {\n    "a": 1\n  }\n'


def test_files_are_named_with_type_and_size(shown: Shown) -> None:
    shown.view.show(
        chunk(
            Part(raw=b"abc", filename="a.csv", media_type="text/csv"),
            Part(raw=b""),
            Part(url="https://files.example/b", filename="b.png", media_type="image/png"),
            Part(url="https://files.example/c"),
            append=False,
        )
    )
    assert shown.text.splitlines() == [
        "  a.csv (text/csv, 3 bytes; /save)",
        "  a file without a name (0 bytes; /save)",
        "  b.png (image/png) at https://files.example/b",
        "  a file at https://files.example/c",
    ]


def test_a_schema_is_not_shown(shown: Shown) -> None:
    schema = Part(data={"schema": {"type": "string"}}, media_type="application/schema+json")
    shown.view.show(status(TaskState.INPUT_REQUIRED, Part(text="What?"), schema))
    assert shown.text == "  What?\n"


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (TaskState.COMPLETED, "completed, without a result"),
        (TaskState.FAILED, "the task has failed"),
        (TaskState.CANCELED, "the task was canceled"),
        (TaskState.REJECTED, "the agent has rejected the task"),
        (TaskState.AUTH_REQUIRED, "/continue waits until it goes on"),
        (TaskState.SUBMITTED, "the task is submitted: /continue follows it"),
    ],
)
def test_the_end_of_a_turn_is_told(shown: Shown, state: TaskState, word: str) -> None:
    shown.view.ending(task(state))
    assert word in shown.text


def test_what_goes_without_saying_is_not_said(shown: Shown) -> None:
    shown.view.ending(task(TaskState.INPUT_REQUIRED))
    with shown.view.turn():
        shown.view.show(chunk(Part(text="x"), append=False))
    shown.view.ending(task(TaskState.COMPLETED))
    assert shown.text == "  x\n"


def test_lines_stand_on_lines_of_their_own(shown: Shown) -> None:
    shown.view.show(chunk(Part(text="x"), append=False))
    shown.view.lines(Lines().field("Task", "t"))
    assert shown.text == "  x\nTask: t\n"


@pytest.mark.parametrize(
    ("environment", "has_colour", "moves"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_the_terminal_and_the_user_are_respected(
    environment: dict[str, str],
    has_colour: bool,  # noqa: FBT001 - of a case
    moves: bool,  # noqa: FBT001 - of a case
) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    stdout = Terminal()
    with console_on(stdout, environment) as console:
        view = View(console)
        with view.turn():
            view.note("by the way")
            view.show(chunk(Part(data={"a": 1}), append=False))
        view.ending(task(TaskState.FAILED))
    text = stdout.getvalue().decode()
    assert ("\x1b[31m" in text) is has_colour
    assert ("\x1b[?25l" in text) is moves
    if not (has_colour or moves):
        assert "\x1b" not in text
    # Nothing is left hidden, and the stream stays open.
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")
    assert not stdout.closed
