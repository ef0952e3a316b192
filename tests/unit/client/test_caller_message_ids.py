from msgspec.structs import replace

from dragoman.client.caller import name_event, name_messages
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import Empty, ListTasksResponse
from dragoman.model.tasks import Task, TaskState
from tests.support.client.fakes import chunk, said, status, task

NAMELESS = said("hello", message_id="")


def test_a_message_gets_the_same_name_whenever_it_is_read() -> None:
    first = name_messages(task(message=NAMELESS, history=(NAMELESS, said("else", "m"))))
    event = name_event(status(TaskState.WORKING, NAMELESS))
    assert isinstance(first, Task)
    assert first.status.message is not None
    assert event.status_update is not None
    assert event.status_update.status.message == first.status.message
    assert first.history[0].message_id == first.status.message.message_id != ""
    assert first.history[1].message_id == "m"


def test_what_says_something_else_is_called_otherwise() -> None:
    one = name_messages(NAMELESS)
    two = name_messages(said("bye", message_id=""))
    three = name_messages(replace(NAMELESS, context_id="c"))
    assert len({getattr(each, "message_id", "") for each in (one, two, three)}) == 3


def test_all_messages_of_an_answer_are_named() -> None:
    page = ListTasksResponse(
        tasks=(task(message=NAMELESS),), next_page_token="", page_size=1, total_size=1
    )
    found = name_messages(page)
    assert isinstance(found, ListTasksResponse)
    assert found.tasks[0].status.message is not None
    assert found.tasks[0].status.message.message_id
    event = name_event(StreamResponse(message=NAMELESS))
    assert isinstance(event.message, Message)
    assert event.message.message_id
    led = name_event(StreamResponse(task=task(message=NAMELESS)))
    assert led.task is not None
    assert led.task.status.message is not None
    assert led.task.status.message.message_id


def test_what_holds_no_message_stays_as_it_is() -> None:
    for event in (chunk("x"), status(TaskState.WORKING)):
        assert name_event(event) is event
    assert name_messages(Empty()) == Empty()
    assert name_messages(task()) == task()
