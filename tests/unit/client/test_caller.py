import pytest

from dragoman.client.caller import answer_as
from dragoman.client.errors import CutError, UnreachableError
from dragoman.client.retry import NEVER
from dragoman.errors import (
    InvalidParamsError,
    MethodNotFoundError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    VersionNotSupportedError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Operation,
    SendMessageRequest,
)
from dragoman.model.tasks import Task, TaskState
from tests.support.client.fakes import (
    QuickClock,
    ScriptedTransport,
    caller_of,
    chunk,
    offer,
    said,
    send,
    status,
    task,
)

READ = GetTaskRequest(id="t")
AWAY = UnreachableError("a", "refused")
CUT = CutError("a", "reset")
UNKNOWN = MethodNotFoundError("no such method")


# --- again --------------------------------------------------------------------------------------


async def test_a_read_is_repeated_until_it_succeeds() -> None:
    clock = QuickClock()
    agent = ScriptedTransport(answers=[CUT, UnavailableError(retry_after_seconds=7), task()])
    caller = caller_of(agent, clock=clock)
    assert await caller.call(Operation.GET_TASK, READ) == task()
    assert clock.slept == [1.0, 7.0]


async def test_it_is_given_up_after_some_attempts() -> None:
    agent = ScriptedTransport(answers=[CUT] * 9)
    with pytest.raises(CutError):
        await caller_of(agent).call(Operation.GET_TASK, READ)
    assert len(agent.asked) == 4


async def test_what_would_do_harm_is_not_repeated() -> None:
    agent = ScriptedTransport(answers=[InvalidParamsError()])
    with pytest.raises(InvalidParamsError):
        await caller_of(agent).call(Operation.GET_TASK, READ)
    assert len(agent.asked) == 1


@pytest.mark.parametrize("form", ["1.0", "0.3"])
async def test_a_send_is_repeated_with_the_same_id(form: str) -> None:
    agent = ScriptedTransport(answers=[CUT, task()])
    caller = caller_of(agent, offers=(offer(form),))
    await caller.call(Operation.SEND_MESSAGE, send(message_id="m-7"))
    assert [_id_of(request) for _, request in agent.asked] == ["m-7", "m-7"]


def _id_of(request: object) -> str:
    assert isinstance(request, SendMessageRequest)
    return request.message.message_id


async def test_in_0_1_the_task_of_a_lost_send_is_looked_for() -> None:
    found = ScriptedTransport(answers=[CUT, task()])
    caller = caller_of(found, offers=(offer("0.1"),))
    assert await caller.call(Operation.SEND_MESSAGE, send(message_id="m-7")) == task()
    assert found.operations == [Operation.SEND_MESSAGE, Operation.GET_TASK]
    assert found.asked[-1][1] == GetTaskRequest(id="m-7")


async def test_in_0_1_a_send_that_did_not_arrive_is_repeated() -> None:
    lost = ScriptedTransport(answers=[CUT, TaskNotFoundError("m-7"), task()])
    caller = caller_of(lost, offers=(offer("0.1"),))
    assert await caller.call(Operation.SEND_MESSAGE, send(message_id="m-7")) == task()
    sent = [Operation.SEND_MESSAGE, Operation.GET_TASK, Operation.SEND_MESSAGE]
    assert lost.operations == sent


async def test_a_cancel_whose_answer_was_lost_is_done() -> None:
    refusal = TaskNotCancelableError("t", "TASK_STATE_CANCELED")
    agent = ScriptedTransport(answers=[CUT, refusal, task(TaskState.CANCELED)])
    found = await caller_of(agent).call(Operation.CANCEL_TASK, CancelTaskRequest(id="t"))
    assert found == task(TaskState.CANCELED)


@pytest.mark.parametrize("before", [[], [CUT]])
async def test_what_ended_otherwise_cannot_be_canceled(before: list[CutError]) -> None:
    refusal = TaskNotCancelableError("t", "TASK_STATE_COMPLETED")
    agent = ScriptedTransport(answers=[*before, refusal, task(TaskState.COMPLETED)])
    with pytest.raises(TaskNotCancelableError):
        await caller_of(agent).call(Operation.CANCEL_TASK, CancelTaskRequest(id="t"))


# --- elsewhere ----------------------------------------------------------------------------------


async def test_an_interface_that_is_away_gives_way_to_the_next() -> None:
    first, second = ScriptedTransport(answers=[AWAY]), ScriptedTransport(answers=[task(), task()])
    caller = caller_of(first, second)
    assert caller.offer.url == "http://agent0.test/"
    await caller.call(Operation.GET_TASK, READ)
    assert caller.offer.url == "http://agent1.test/"
    assert first.is_closed
    await caller.call(Operation.GET_TASK, READ)
    assert len(first.asked) == 1


async def test_whoever_has_answered_is_kept_to() -> None:
    first = ScriptedTransport(answers=[task(), AWAY, AWAY, task()])
    caller = caller_of(first, ScriptedTransport())
    await caller.call(Operation.GET_TASK, READ)
    await caller.call(Operation.GET_TASK, READ)
    assert len(first.asked) == 4


async def test_a_refusal_in_so_many_words_is_an_answer() -> None:
    first = ScriptedTransport(answers=[TaskNotFoundError("t"), UNKNOWN])
    caller = caller_of(first, ScriptedTransport())
    with pytest.raises(TaskNotFoundError):
        await caller.call(Operation.GET_TASK, READ)
    with pytest.raises(MethodNotFoundError):
        await caller.call(Operation.GET_TASK, READ)


async def test_an_older_version_is_tried_where_the_method_is_not_known() -> None:
    new = ScriptedTransport(answers=[UNKNOWN])
    old = ScriptedTransport(answers=[task()])
    caller = caller_of(new, old, offers=(offer(), offer("0.3")))
    await caller.call(Operation.SEND_MESSAGE, send())
    assert str(caller.offer.version) == "0.3"


async def test_what_not_every_version_has_tells_nothing_about_the_version() -> None:
    caller = caller_of(
        ScriptedTransport(answers=[UNKNOWN]),
        ScriptedTransport(),
        offers=(offer("0.3"), offer("0.1")),
    )
    with pytest.raises(MethodNotFoundError):
        await caller.call(Operation.LIST_TASKS, ListTasksRequest())


async def test_a_version_is_negotiated_anew() -> None:
    new = ScriptedTransport(answers=[VersionNotSupportedError("1.0", ("0.3",))])
    old = ScriptedTransport(answers=[task()])
    caller = caller_of(new, old, offers=(offer(), offer("0.3")))
    assert await caller.call(Operation.GET_TASK, READ) == task()


async def test_when_all_have_failed_the_first_failure_counts() -> None:
    caller = caller_of(
        ScriptedTransport(answers=[UNKNOWN, task()]),
        ScriptedTransport(answers=[MethodNotFoundError("nor here")]),
        offers=(offer(), offer("0.3")),
    )
    with pytest.raises(MethodNotFoundError, match="no such method"):
        await caller.call(Operation.SEND_MESSAGE, send())
    # And the first interface is the first to be tried again.
    assert str(caller.offer.version) == "1.0"
    assert await caller.call(Operation.SEND_MESSAGE, send()) == task()


# --- what goes along ----------------------------------------------------------------------------


@pytest.mark.requirement("R-4.4.6-3", "R-8.3.2-4", "R-8.3.2-5", "R-T.mt-1", "R-T.mt-2")
@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_the_tenant_is_that_of_the_interface(tenant: str) -> None:
    agent = ScriptedTransport(answers=[task()])
    caller = caller_of(agent, offers=(offer(tenant=tenant),))
    await caller.call(Operation.GET_TASK, GetTaskRequest(id="t", tenant="other"), ("urn:x",))
    assert agent.asked[0][1].tenant == tenant
    assert agent.extensions == [("urn:x",)]


async def test_credentials_are_renewed_once() -> None:
    agent = ScriptedTransport(answers=[UnauthenticatedError(), task()])
    agent.can_renew = True
    assert await caller_of(agent).call(Operation.GET_TASK, READ) == task()
    refusing = ScriptedTransport(answers=[UnauthenticatedError()] * 2)
    refusing.can_renew = True
    with pytest.raises(UnauthenticatedError):
        await caller_of(refusing).call(Operation.GET_TASK, READ)
    assert refusing.renewals == 1


async def test_messages_of_older_versions_get_names() -> None:
    agent = ScriptedTransport(answers=[task(message=said("hi", message_id=""))])
    found = await caller_of(agent, offers=(offer("0.1"),)).call(Operation.GET_TASK, READ)
    assert isinstance(found, Task)
    assert isinstance(found.status.message, Message)
    assert found.status.message.message_id


# --- streams ------------------------------------------------------------------------------------


async def test_a_stream_is_opened_elsewhere_if_need_be() -> None:
    old = ScriptedTransport(streams=[[status(TaskState.WORKING, said("hi", message_id=""))]])
    caller = caller_of(ScriptedTransport(streams=[[UNKNOWN]]), old, offers=(offer(), offer("0.3")))
    (batch,) = [each async for each in caller.stream(Operation.SEND_STREAMING_MESSAGE, send())]
    update = batch[0].event.status_update
    assert update is not None
    assert update.status.message is not None
    assert update.status.message.message_id


async def test_a_stream_that_has_begun_is_not_begun_elsewhere() -> None:
    agent = ScriptedTransport(streams=[[chunk("x"), AWAY]])
    stream = caller_of(agent, ScriptedTransport()).stream(Operation.SEND_STREAMING_MESSAGE, send())
    assert await anext(stream)
    with pytest.raises(UnreachableError):
        await anext(stream)


async def test_a_sign_of_life_is_no_beginning() -> None:
    old = ScriptedTransport(streams=[[chunk("x")]])
    new = ScriptedTransport(streams=[[(), UNKNOWN]])
    caller = caller_of(new, old, offers=(offer(), offer("0.3")))
    stream = caller.stream(Operation.SEND_STREAMING_MESSAGE, send())
    assert [len(each) async for each in stream] == [0, 1]


async def test_credentials_are_renewed_for_a_stream() -> None:
    agent = ScriptedTransport(streams=[[UnauthenticatedError()], [chunk("x")]])
    agent.can_renew = True
    stream = caller_of(agent).stream(Operation.SEND_STREAMING_MESSAGE, send())
    assert len([each async for each in stream]) == 1


async def test_closing_closes_the_transport() -> None:
    agent = ScriptedTransport(answers=[task()])
    caller = caller_of(agent, policy=NEVER)
    await caller.aclose()
    assert not agent.is_closed
    await caller.call(Operation.GET_TASK, READ)
    await caller.aclose()
    assert agent.is_closed


def test_an_answer_of_another_kind_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        answer_as(Task, said("hi"))
    assert answer_as(Task, task()) == task()
