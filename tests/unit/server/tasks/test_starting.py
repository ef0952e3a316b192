import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dragoman.errors import (
    InvalidAgentResponseError,
    InvalidParamsError,
    PermissionDeniedError,
    StoreUnavailableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.idempotency import Sends
from dragoman.server.tasks.secrets import PLACEHOLDER, TaskSecrets
from dragoman.server.tasks.starting import Accepted, MessageIntake
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.service.principal import Principal
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Done, Scope, SendRecord, StoredTask, TaskQuery
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SCOPE, ScriptedWorker, agent_message

CALL = Call(dialect="1.0", extensions=("u",))


class Store(MemoryTaskStore):
    """A store that can fail to remember a send, and be empty-handed about a task."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.is_forgetful = False
        # A message for the inbox waits for this on its way.
        self.takes_messages = asyncio.Event()
        self.takes_messages.set()
        self.when_remembering: Callable[[], object] = lambda: None

    def remember_send(self, record: SendRecord, done: Done) -> None:
        self.when_remembering()
        if self.is_down:
            asyncio.get_running_loop().call_soon(done, StoreUnavailableError("disk full"))
        else:
            super().remember_send(record, done)

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        await self.takes_messages.wait()
        if self.is_down:
            raise StoreUnavailableError("disk full")
        return await super().put_inbox(task_id, body, send, epoch=epoch)

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        return None if self.is_forgetful else await super().load(scope, task_id)


class WebhookCalls:
    """A sender, and what it stands on."""

    def __init__(self, worker: ScriptedWorker, window_seconds: float) -> None:
        self.store = Store()
        self.clock = FakeClock()
        task_secrets = TaskSecrets()
        self.supervisor = TaskSupervisor(
            worker=worker,
            store=self.store,
            clock=self.clock,
            hub=Hub(),
            settings=TurnSettings(),
            task_secrets=task_secrets,
        )
        self.sender = MessageIntake(
            worker=worker,
            store=self.store,
            supervisor=self.supervisor,
            sends=Sends(self.store, self.clock, window_seconds),
            clock=self.clock,
            task_secrets=task_secrets,
        )

    async def send(self, request: SendMessageRequest) -> Accepted:
        """Send a message that a live task is to take."""
        sent = await self.sender.send(request, CALL)
        assert isinstance(sent, Accepted)
        return sent

    async def ended(self, request: SendMessageRequest) -> str:
        """Send a message and wait until its task is over; return the task's id."""
        sent = await self.send(request)
        await sent.settled
        return sent.live.task_id


async def post(
    run: Callable[[Turn], Awaitable[Outcome]] | None = None,
    *,
    answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
    window_seconds: float = 600,
    scopes: frozenset[str] = frozenset(),
) -> WebhookCalls:
    made = WebhookCalls(ScriptedWorker(run, answer=answer, scopes=scopes), window_seconds)
    await made.store.open()
    return made


def request(
    text: str = "hello",
    *,
    message_id: str = "m-1",
    context_id: str = "",
    task_id: str = "",
    configuration: SendMessageConfiguration | None = None,
) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=message_id,
            context_id=context_id,
            task_id=task_id,
            role=Role.USER,
            parts=(Part(text=text),),
        ),
        configuration=configuration,
        metadata={"k": 1},
    )


async def ask(turn: Turn) -> Outcome:
    await turn.ask(agent_message("which?"))
    return Completed()


async def forever(turn: Turn) -> Outcome:
    del turn
    await asyncio.Event().wait()
    return Completed()


# --- new messages -----------------------------------------------------------------------------


@pytest.mark.requirement("R-3.4.2-1")
async def test_every_new_message_begins_a_task_of_its_own() -> None:
    at = await post()
    first = await at.ended(request(message_id="m-1"))
    second = await at.ended(request(message_id="m-2"))
    assert first != second


async def test_a_task_is_kept_as_what_it_was_asked_for() -> None:
    at = await post()
    sent = await at.send(request())
    record = sent.live.record
    assert (record.scope, record.skill_id, record.origin_dialect) == (SCOPE, "echo", "1.0")
    assert record.created_ms == at.clock.now_ms()
    await sent.settled


async def test_a_missing_context_is_made() -> None:
    at = await post()
    sent = await at.send(request())
    assert sent.live.record.context_id == "id-1"
    assert sent.live.history()[0].context_id == "id-1"
    await sent.settled


@pytest.mark.requirement("R-3.4.1-5")
async def test_a_context_of_the_clients_is_kept() -> None:
    at = await post()
    sent = await at.send(request(context_id="c-9"))
    assert sent.live.record.context_id == "c-9"
    await sent.settled


async def test_a_turn_gets_what_came_with_its_message() -> None:
    seen: list[object] = []

    async def run(turn: Turn) -> Outcome:
        seen.extend((turn.metadata, turn.extensions, turn.accepted_output_modes))
        seen.append((turn.message.task_id, turn.message.context_id))
        return Completed()

    at = await post(run)
    configuration = SendMessageConfiguration(accepted_output_modes=("text/plain",))
    await at.ended(request(configuration=configuration))
    assert seen == [{"k": 1}, ("u",), ("text/plain",), ("id-2", "id-1")]


# --- further messages -------------------------------------------------------------------------


@pytest.mark.requirement("R-3.4.3-4")
@pytest.mark.parametrize("window_seconds", [0, 600])
async def test_a_further_message_goes_to_its_task(window_seconds: float) -> None:
    at = await post(ask, window_seconds=window_seconds)
    sent = await at.send(request())
    await sent.settled
    task_id, context_id = sent.live.task_id, sent.live.record.context_id
    answer = await at.send(request("that", message_id="m-2", task_id=task_id))
    assert answer.live is sent.live
    assert answer.stored is not None
    await answer.stored
    await answer.settled
    assert answer.live.history()[-1].context_id == context_id


@pytest.mark.requirement("R-3.4.3-5")
async def test_a_context_other_than_the_tasks_is_refused() -> None:
    at = await post(ask)
    sent = await at.send(request())
    await sent.settled
    stray = request(message_id="m-2", task_id=sent.live.task_id, context_id="c-9")
    with pytest.raises(InvalidParamsError, match=r"message\.contextId"):
        await at.sender.send(stray, CALL)


@pytest.mark.requirement("R-3.1.1-3")
@pytest.mark.parametrize("call", [CALL, Call(principal=Principal(owner="somebody else"))])
async def test_a_task_that_is_not_the_callers_does_not_exist(call: Call) -> None:
    at = await post(ask)
    sent = await at.send(request())
    await sent.settled
    task_id = "t-0" if call is CALL else sent.live.task_id
    with pytest.raises(TaskNotFoundError):
        await at.sender.send(request(message_id="m-2", task_id=task_id), call)


@pytest.mark.requirement("R-3.1.1-2")
async def test_a_task_that_has_ended_takes_no_more_messages() -> None:
    at = await post()
    task_id = await at.ended(request())
    with pytest.raises(UnsupportedOperationError) as caught:
        await at.sender.send(request(message_id="m-2", task_id=task_id), CALL)
    assert caught.value.metadata == {"taskId": task_id, "state": TaskState.COMPLETED.value}


async def test_of_a_task_that_has_ended_the_context_counts_too() -> None:
    at = await post()
    task_id = await at.ended(request())
    stray = request(message_id="m-2", task_id=task_id, context_id="c-9")
    with pytest.raises(InvalidParamsError):
        await at.sender.send(stray, CALL)


async def test_a_further_message_that_could_not_be_stored_may_be_sent_again() -> None:
    at = await post(forever)
    sent = await at.send(request())
    await sent.live.durable()
    further = request(message_id="m-2", task_id=sent.live.task_id)
    at.store.is_down = True
    failed = await at.send(further)
    assert failed.stored is not None
    with pytest.raises(UnavailableError):
        await failed.stored
    at.store.is_down = False
    again = await at.send(further)
    assert not again.is_known
    assert again.stored is not None
    await again.stored


async def test_a_further_message_that_is_on_its_way_is_delivered_once() -> None:
    at = await post(forever)
    sent = await at.send(request())
    await sent.live.durable()
    further = request("more", message_id="m-2", task_id=sent.live.task_id)
    at.store.takes_messages.clear()
    first = await at.send(further)
    assert first.stored is not None
    second = await at.send(further)
    assert second.is_known
    (item,) = sent.live.inbox
    # Nor is it acknowledged before it is there.
    assert second.stored is first.stored
    assert not first.stored.done()
    at.store.takes_messages.set()
    assert await item.stored == 1
    await first.stored


# --- messages that were sent before -----------------------------------------------------------


async def test_a_message_sent_again_while_its_task_is_at_work_joins_it() -> None:
    at = await post(forever)
    first = await at.send(request())
    second = await at.send(request())
    assert second.live is first.live
    assert (first.is_known, second.is_known) == (False, True)
    assert not second.settled.done()


async def test_a_message_sent_again_while_its_task_waits_for_input_need_not_wait() -> None:
    at = await post(ask)
    first = await at.send(request())
    await first.settled
    second = await at.send(request())
    assert second.settled.done()


async def test_a_message_sent_again_after_the_end_gets_the_task_that_ended() -> None:
    at = await post()
    task_id = await at.ended(request())
    again = await at.sender.send(request(), CALL)
    assert isinstance(again, StoredTask)
    assert again.id == task_id


async def test_a_message_whose_task_is_gone_is_told_so() -> None:
    at = await post()
    await at.ended(request())
    at.store.is_forgetful = True
    with pytest.raises(TaskNotFoundError):
        await at.sender.send(request(), CALL)


async def test_a_further_message_sent_again_is_delivered_once() -> None:
    at = await post(forever)
    sent = await at.send(request())
    await sent.live.durable()
    further = request("more", message_id="m-2", task_id=sent.live.task_id)
    first = await at.send(further)
    assert first.stored is not None
    await first.stored
    second = await at.send(further)
    assert second.is_known
    assert len(sent.live.inbox) == 1


async def test_without_a_window_every_message_is_new() -> None:
    at = await post(window_seconds=0)
    assert await at.ended(request()) != await at.ended(request())


# --- direct answers ---------------------------------------------------------------------------


class Oracle:
    """Answers directly, as often as it is asked; counts that."""

    def __init__(self) -> None:
        self.asked = 0
        self.released = asyncio.Event()
        self.released.set()
        self.error: Exception | None = None

    async def answer(self, request: SendMessageRequest) -> Message:
        del request
        self.asked += 1
        await self.released.wait()
        if self.error is not None:
            raise self.error
        return agent_message(f"answer {self.asked}")


async def test_a_direct_answer_makes_no_task() -> None:
    oracle = Oracle()
    at = await post(answer=oracle.answer)
    assert await at.sender.send(request(), CALL) == agent_message("answer 1")
    assert (await at.store.list_tasks(TaskQuery(scope=SCOPE, limit=1))).total == 0


async def test_a_message_that_was_answered_gets_the_same_answer_again() -> None:
    oracle = Oracle()
    at = await post(answer=oracle.answer)
    await at.sender.send(request(), CALL)
    assert await at.sender.send(request(), CALL) == agent_message("answer 1")
    assert oracle.asked == 1


async def test_a_message_sent_again_while_it_is_being_answered_gets_that_answer() -> None:
    oracle = Oracle()
    oracle.released.clear()
    at = await post(answer=oracle.answer)
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(at.sender.send(request(), CALL)) for _ in range(2)]
        await asyncio.sleep(0)
        oracle.released.set()
    assert [task.result() for task in both] == [agent_message("answer 1")] * 2
    assert oracle.asked == 1


async def test_without_a_window_every_message_is_answered_anew() -> None:
    oracle = Oracle()
    at = await post(answer=oracle.answer, window_seconds=0)
    await at.sender.send(request(), CALL)
    assert await at.sender.send(request(), CALL) == agent_message("answer 2")


async def test_an_answer_that_failed_may_be_asked_for_again() -> None:
    oracle = Oracle()
    oracle.error = InvalidAgentResponseError("nothing to say")
    at = await post(answer=oracle.answer)
    with pytest.raises(InvalidAgentResponseError):
        await at.sender.send(request(), CALL)
    oracle.error = None
    assert await at.sender.send(request(), CALL) == agent_message("answer 2")


async def test_an_answer_that_could_not_be_remembered_is_not_given() -> None:
    oracle = Oracle()
    at = await post(answer=oracle.answer)
    at.store.is_down = True
    with pytest.raises(UnavailableError, match="store is not available"):
        await at.sender.send(request(), CALL)


async def test_who_stops_waiting_for_an_answer_takes_it_from_nobody() -> None:
    oracle = Oracle()
    oracle.released.clear()
    at = await post(answer=oracle.answer)
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(at.sender.send(request(), CALL))
        await asyncio.sleep(0)
        gone.cancel()
    oracle.released.set()
    assert await at.sender.send(request(), CALL) == agent_message("answer 2")


async def test_a_record_that_is_written_after_its_sender_is_gone_harms_nobody() -> None:
    oracle = Oracle()
    at = await post(answer=oracle.answer)
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(at.sender.send(request(), CALL))
        at.store.when_remembering = gone.cancel
    assert await at.sender.send(request(), CALL) == agent_message("answer 1")


# --- who sends ----------------------------------------------------------------------------------

ADA = Principal(owner="ada", scopes=frozenset({"write"}))


async def test_a_turn_knows_who_sent_its_message() -> None:
    seen: list[Principal] = []

    async def look(turn: Turn) -> Outcome:
        seen.append(turn.principal)
        await turn.ask(agent_message("And?"))
        seen.append(turn.principal)
        return Completed()

    on = await post(look)
    sent = await on.sender.send(request(), Call(principal=ADA))
    assert isinstance(sent, Accepted)
    await sent.settled
    # The same caller, who was granted something else meanwhile.
    later = Principal(owner="ada", scopes=frozenset({"write", "pay"}))
    answer = request("yes", message_id="m-2", task_id=sent.live.task_id)
    answered = await on.sender.send(answer, Call(principal=later))
    assert isinstance(answered, Accepted)
    assert answered.stored is not None
    await answered.stored
    await answered.settled
    assert seen == [ADA, later]


async def test_every_message_needs_the_scopes_of_its_skill() -> None:
    on = await post(ask, scopes=frozenset({"write"}))
    with pytest.raises(PermissionDeniedError, match="write"):
        await on.sender.send(request(), CALL)
    sent = await on.sender.send(request(), Call(principal=ADA))
    assert isinstance(sent, Accepted)
    await sent.settled
    answer = request("yes", message_id="m-2", task_id=sent.live.task_id)
    with pytest.raises(PermissionDeniedError, match="write"):
        await on.sender.send(answer, Call(principal=Principal(owner="ada")))
    assert sent.live.pause is not None  # It is still waiting.


async def test_the_skill_of_a_message_is_known_before_it_is_delivered() -> None:
    on = await post(ask)
    assert await on.sender.skill_for(request(), CALL) == "echo"
    sent = await on.send(request())
    await sent.settled
    further = request("yes", message_id="m-2", task_id=sent.live.task_id)
    assert await on.sender.skill_for(further, CALL) == "echo"
    with pytest.raises(TaskNotFoundError):
        await on.sender.skill_for(further, Call(principal=ADA))
    # A name of the caller's own is that of a task to be.
    assert await on.sender.skill_for(request(), Call(alias="mine")) == "echo"
    answered = await on.send(further)
    assert answered.stored is not None
    await answered.stored
    await answered.settled
    assert await on.sender.skill_for(further, CALL) == "echo"


ANEW = Call(alias="mine", begins_anew=True)


async def sent_anew(at: WebhookCalls, message_id: str) -> str:
    """Send a message under a name, wait until its task is over, and return the task's id."""
    sent = await at.sender.send(request(message_id=message_id), ANEW)
    assert isinstance(sent, Accepted)
    await sent.settled
    return sent.live.task_id


async def test_a_name_whose_task_has_ended_can_be_used_again() -> None:
    at = await post()
    first = await sent_anew(at, "m-1")
    second = await sent_anew(at, "m-2")
    assert first != second
    assert await at.supervisor.find_called(SCOPE, "mine") == second
    assert await at.store.find_alias(SCOPE, "mine") == second
    # Whoever does not begin anew is told that it is over.
    with pytest.raises(UnsupportedOperationError):
        await at.sender.send(request(message_id="m-3"), Call(alias="mine"))


async def test_a_name_whose_task_waits_is_that_of_this_task() -> None:
    on = await post(ask)
    sent = await on.sender.send(request(), ANEW)
    assert isinstance(sent, Accepted)
    await sent.settled
    answered = await on.sender.send(request("yes", message_id="m-2"), ANEW)
    assert isinstance(answered, Accepted)
    assert answered.live is sent.live
    assert answered.stored is not None
    await answered.stored
    await answered.settled


async def test_a_message_that_begins_anew_is_asked_about_as_the_new_one_it_is() -> None:
    at = await post()
    ended = await sent_anew(at, "m-1")
    assert await at.sender.has_ended(SCOPE, ended)
    assert not await at.sender.has_ended(SCOPE, "mine")
    assert await at.sender.skill_for(request(message_id="m-2"), ANEW) == "echo"


# --- secrets ------------------------------------------------------------------------------------


async def test_a_secret_reaches_the_turn_and_nothing_else() -> None:
    told: list[str | None] = []

    async def run(turn: Turn) -> Outcome:
        answer = await turn.ask(agent_message("secret?"))
        told.extend((answer.parts[0].text, turn.message.parts[0].text))
        return Completed()

    on = await post(run)
    first = await on.send(request())
    await first.settled
    task_id = first.live.task_id
    again = request("hush", message_id="m-2", task_id=task_id)
    sent = await on.send(again)
    assert sent.stored is not None
    await sent.stored
    await sent.settled
    assert told == ["hush", PLACEHOLDER]
    stored = await on.store.load(SCOPE, task_id)
    assert "hush" not in str(stored)
    assert "hush" not in str(await on.store.read_journal(task_id))
    assert PLACEHOLDER in str(await on.store.read_entries(task_id, until=100))
    # It is known for the same when it is sent again.
    assert isinstance(await on.sender.send(again, CALL), StoredTask)
