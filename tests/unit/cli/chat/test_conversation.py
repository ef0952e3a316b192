import pytest

from dragoman.cli.chat.conversation import Conversation
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState, TaskStatus

TEXT = (Part(text="x"),)


def task(state: TaskState) -> Task:
    return Task(id="t", context_id="c", status=TaskStatus(state=state))


def next_message(conversation: Conversation) -> Message:
    return conversation.request(TEXT, lambda: "m").message


def test_the_first_message_names_nothing() -> None:
    message = next_message(Conversation())
    # A2ACLI_INTERACT_003: the only id that is made up is that of the message.
    assert (message.message_id, message.context_id, message.task_id) == ("m", "", "")


@pytest.mark.parametrize("state", TaskState)
def test_a_task_is_carried_while_it_waits(state: TaskState) -> None:
    conversation = Conversation()
    conversation.see(task(state))
    message = next_message(conversation)
    assert message.context_id == "c"
    assert message.task_id == ("t" if state.is_interrupted else "")
    assert (conversation.unfinished is None) == state.is_terminal


def test_a_message_binds_the_context_only() -> None:
    conversation = Conversation()
    conversation.see(task(TaskState.INPUT_REQUIRED))
    conversation.see(
        Message(message_id="r", role=Role.AGENT, parts=TEXT, context_id="d", task_id="u")
    )
    message = next_message(conversation)
    assert (message.context_id, message.task_id) == ("d", "")


def test_what_names_no_context_changes_none() -> None:
    conversation = Conversation(context_id="c")
    conversation.see(Message(message_id="r", role=Role.AGENT, parts=TEXT))
    conversation.see(None)
    assert next_message(conversation).context_id == "c"


def test_a_new_conversation_names_nothing_again() -> None:
    conversation = Conversation()
    conversation.see(task(TaskState.INPUT_REQUIRED))
    conversation.renew()
    message = next_message(conversation)
    assert (message.context_id, message.task_id) == ("", "")


def test_a_skill_is_for_new_tasks() -> None:
    conversation = Conversation()
    conversation.skill = "s"
    assert next_message(conversation).metadata == {"skillId": "s"}
    conversation.see(task(TaskState.INPUT_REQUIRED))
    assert next_message(conversation).metadata is None


def test_attachments_follow_the_text() -> None:
    conversation = Conversation()
    conversation.attachments.append(Part(url="https://files.example/a"))
    assert [part.kind for part in next_message(conversation).parts] == ["text", "url"]


def test_of_a_task_that_goes_on_only_the_news_are_shown() -> None:
    conversation = Conversation()
    asked = task(TaskState.INPUT_REQUIRED)
    assert len(conversation.known("").look(asked)) == 1
    assert conversation.known("t").look(asked) == ()
    # Of another one everything is news.
    assert len(conversation.known("").look(asked)) == 1


def test_an_interrupt_of_strands_is_answered_by_its_name() -> None:
    pending = Part(data={"interrupts": [{"interruptId": "i-1", "name": "approval"}]})
    asked = Message(message_id="q", role=Role.AGENT, parts=(Part(text="go on?"), pending))
    conversation = Conversation()
    status = TaskStatus(state=TaskState.INPUT_REQUIRED, message=asked)
    conversation.see(Task(id="t", context_id="c", status=status))
    response = {"interruptId": "i-1", "response": "x"}
    assert next_message(conversation).parts == (Part(data={"interruptResponse": response}),)
