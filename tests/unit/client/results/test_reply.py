from typing import Unpack

import pytest

from dragoman.client.errors import TaskNotCompletedError
from dragoman.client.results.content import ReceivedFile
from dragoman.client.results.reply import AgentReply, ReplyView
from dragoman.client.results.sending import SendOptions
from dragoman.client.results.stream import AgentStream
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from tests.support.client.fakes import artifact, said, task

DONE = task(TaskState.COMPLETED, artifact("one"), artifact("two"), message=said("Done."))
ASKED = task(TaskState.INPUT_REQUIRED, artifact("draft"), message=said("Which?"))


def test_of_a_finished_task_the_results_are_the_answer() -> None:
    reply = ReplyView(DONE)
    assert (reply.text, str(reply)) == ("one\ntwo", "one\ntwo")
    assert (reply.task, reply.outcome, reply.artifacts) == (DONE, DONE, DONE.artifacts)
    assert reply.message == said("Done.")
    assert (reply.task_id, reply.context_id, reply.state) == ("t", "c", TaskState.COMPLETED)
    assert not reply.needs_input
    assert repr(reply) == "<ReplyView t COMPLETED: 'one\\ntwo'>"


def test_chunks_that_a_server_keeps_apart_are_one_text() -> None:
    assert ReplyView(task(TaskState.COMPLETED, artifact("one ", "two"))).text == "one two"


def test_of_a_task_that_waits_it_is_what_the_agent_asks() -> None:
    reply = ReplyView(ASKED)
    assert (reply.text, reply.needs_input) == ("Which?", True)
    assert reply.artifacts == ASKED.artifacts


def test_without_results_it_is_what_was_said_last() -> None:
    assert ReplyView(task(TaskState.FAILED, message=said("Sorry."))).text == "Sorry."
    assert ReplyView(task(TaskState.COMPLETED)).text == ""
    picture = Artifact(artifact_id="a", parts=(Part(raw=b"x"),))
    drawn = ReplyView(task(TaskState.COMPLETED, picture, message=said("Here.")))
    assert (drawn.text, drawn.files) == ("Here.", (ReceivedFile(content=b"x"),))


def test_a_message_is_an_answer_without_a_task() -> None:
    reply = ReplyView(said("hi", context_id="c"))
    assert (reply.text, reply.task, reply.state, reply.task_id) == ("hi", None, None, "")
    assert (reply.context_id, reply.artifacts) == ("c", ())
    assert repr(reply) == "<ReplyView message: 'hi'>"
    reply.raise_for_state()


def test_data_is_found_and_read() -> None:
    found = Artifact(artifact_id="a", parts=(Part(text="x"), Part(data={"n": 1})))
    reply = ReplyView(task(TaskState.COMPLETED, found))
    assert reply.data == {"n": 1}
    assert reply.as_type(dict[str, int]) == {"n": 1}
    assert ReplyView(DONE).data is None


@pytest.mark.parametrize("state", [each for each in TaskState if each is not TaskState.COMPLETED])
def test_whatever_is_not_done_can_be_raised(state: TaskState) -> None:
    with pytest.raises(TaskNotCompletedError, match="Hm"):
        ReplyView(task(state, message=said("Hm"))).raise_for_state()


def test_what_is_done_is_not() -> None:
    ReplyView(DONE).raise_for_state()


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.4.3-6", "R-T.lot-2", "R-3.4.3-7", "R-3.4.2-3", "R-7.6.2-1")
@pytest.mark.parametrize(
    ("reply", "options"),
    [
        (ReplyView(ASKED), {"context_id": "c", "task_id": "t"}),
        (ReplyView(task(TaskState.AUTH_REQUIRED)), {"context_id": "c", "task_id": "t"}),
        (ReplyView(DONE), {"context_id": "c", "reference_task_ids": ("t",)}),
        (ReplyView(said("hi", context_id="c")), {"context_id": "c"}),
    ],
)
def test_a_conversation_goes_on_where_it_was(reply: ReplyView, options: SendOptions) -> None:
    assert reply.continued({}) == options
    assert reply.continued({"task_id": "other"}).get("task_id") == "other"


class Sends:
    def __init__(self) -> None:
        self.sent: list[tuple[tuple[object, ...], object]] = []

    async def send(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        self.sent.append((content, options))
        return AgentReply(DONE, self)

    def stream(self, *content: object, **options: Unpack[SendOptions]) -> AgentStream:
        self.sent.append((content, options))
        raise NotImplementedError


async def test_an_answer_is_sent_to_the_task() -> None:
    sends = Sends()
    reply = AgentReply(ASKED, sends)
    assert (await reply.answer("Rome", skill="s")).text == "one\ntwo"
    with pytest.raises(NotImplementedError):
        reply.stream_answer("Rome")
    place = {"context_id": "c", "task_id": "t"}
    assert sends.sent == [(("Rome",), {**place, "skill": "s"}), (("Rome",), place)]
