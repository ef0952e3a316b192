import pytest

from dragoman.client.errors import ClientError
from dragoman.client.results.client_tools import MOST_ROUNDS, ToolAnswers, answer_parts
from dragoman.client.results.reply import ReplyView
from dragoman.client.results.stream import AgentEvent
from dragoman.client.tools.tool import Tool
from dragoman.client.tools.toolbox import Toolbox
from dragoman.dialects.legacy.part_marks import UNKNOWN_KIND
from dragoman.dialects.legacy.tolerant import INPUT_REQUEST
from dragoman.extensions.agent_tools.exchange import ToolResult, ToolUse
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState, TaskStatus
from dragoman.service.service import EventStream

RESULT = ToolResult(tool_use_id="u-1", result="ok")


def look() -> str:
    """Look."""
    return "ok"


def question(*parts: Part, metadata: dict[str, object] | None = None) -> Message:
    return Message(
        message_id="q", role=Role.AGENT, parts=parts or (Part(text="?"),), metadata=metadata
    )


def event(state: TaskState, said: Message | None) -> AgentEvent:
    update = TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=TaskStatus(state=state, message=said)
    )
    return AgentEvent(StreamResponse(status_update=update))


async def never(reply: ReplyView, parts: tuple[Part, ...]) -> EventStream:
    raise AssertionError((reply, parts))


USE = ToolUse(tool_use_id="u-1", name="look").part()


def test_only_a_question_for_tools_is_helped_with() -> None:
    tool_answers = ToolAnswers(Toolbox([Tool(look)]), never)
    assert tool_answers.is_asked(event(TaskState.INPUT_REQUIRED, question(USE)))
    assert not tool_answers.is_asked(event(TaskState.INPUT_REQUIRED, question()))
    assert not tool_answers.is_asked(event(TaskState.INPUT_REQUIRED, None))
    assert not tool_answers.is_asked(event(TaskState.WORKING, question(USE)))
    assert not tool_answers.is_asked(event(TaskState.AUTH_REQUIRED, question(USE)))


def test_results_are_data_for_whoever_asks_in_data() -> None:
    assert answer_parts(question(USE), [RESULT]) == (RESULT.part(),)
    assert answer_parts(None, [RESULT]) == (RESULT.part(),)


@pytest.mark.parametrize(
    "asked",
    [
        question(Part(data=USE.data, metadata={UNKNOWN_KIND: "tool-use"})),
        question(metadata={INPUT_REQUEST: {"requestId": "u-1"}}),
    ],
)
def test_results_are_parts_of_their_own_for_whoever_asks_so(asked: Message) -> None:
    (part,) = answer_parts(asked, [RESULT])
    assert (part.data, part.metadata) == (RESULT.part().data, {UNKNOWN_KIND: "tool-result"})


async def test_an_agent_that_asks_for_ever_is_left() -> None:
    rounds: list[tuple[Part, ...]] = []

    class Nothing:
        async def aclose(self) -> None:
            """Do nothing."""

    async def answer(reply: ReplyView, parts: tuple[Part, ...]) -> EventStream:
        assert reply.task_id == "t"
        rounds.append(parts)
        return Nothing()  # pyright: ignore[reportReturnType] - nobody iterates over it

    tool_answers = ToolAnswers(Toolbox([Tool(look)]), answer)
    asking = TaskStatus(state=TaskState.INPUT_REQUIRED, message=question(USE))
    reply = ReplyView(Task(id="t", context_id="c", status=asking))
    for _ in range(MOST_ROUNDS):
        await tool_answers.answer(reply)
    assert rounds[0] == (RESULT.part(),)
    with pytest.raises(ClientError, match=f"asked for tools {MOST_ROUNDS} times in task t"):
        await tool_answers.answer(reply)
