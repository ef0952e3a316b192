"""Every command in every state: what it does, and what it leaves alone."""

from typing import NamedTuple, get_args

import pytest
from msgspec.structs import replace

from dragoman.engine.commands import (
    AddArtifact,
    Ask,
    Begin,
    Cancel,
    Command,
    Deliver,
    Finish,
    GoOn,
    Say,
    Start,
    TakeUp,
    Withdraw,
)
from dragoman.engine.effects import (
    Append,
    Effect,
    Enqueue,
    NextTurn,
    Record,
    ResumeTurn,
    StopTurn,
)
from dragoman.engine.machine import Standing, decide
from dragoman.errors import (
    A2AError,
    InvalidAgentResponseError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from dragoman.model.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TERMINAL, Artifact, TaskState, TaskStatus

NOW_MS = 1_767_225_600_123
NOW = "2026-01-01T00:00:00.123Z"

HELLO = Message(message_id="m-1", role=Role.USER, parts=(Part(text="hello"),))
NEWS = Message(message_id="m-2", role=Role.AGENT, parts=(Part(text="news"),))
REPORT = Artifact(artifact_id="a-1", parts=(Part(text="report"),))

SUBMITTED = TaskState.SUBMITTED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED
AUTH_REQUIRED = TaskState.AUTH_REQUIRED
COMPLETED = TaskState.COMPLETED
FAILED = TaskState.FAILED
CANCELED = TaskState.CANCELED
REJECTED = TaskState.REJECTED

UNBEGUN = (None,)
OPEN = (SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED)
INTERRUPTED = (INPUT_REQUIRED, AUTH_REQUIRED)
ENDED = (COMPLETED, FAILED, CANCELED, REJECTED)
EVERY = (*UNBEGUN, *OPEN, *ENDED)

AGENT_ERROR = InvalidAgentResponseError


def standing(state: TaskState | None, *, unread: int = 0, **artifacts: bool) -> Standing:
    """Return a task after seven events; artifacts are named ``a_1`` here and ``a-1`` there."""
    return Standing(
        task_id="t-1",
        context_id="c-1",
        state=state,
        seq=7,
        unread=unread,
        artifacts={name.replace("_", "-"): is_open for name, is_open in artifacts.items()},
    )


def status(state: TaskState, message: Message | None = None) -> Append:
    """Return the effect that logs a status."""
    return Append(
        TaskStatusUpdateEvent(
            task_id="t-1",
            context_id="c-1",
            status=TaskStatus(state=state, message=message, timestamp=NOW),
        )
    )


def chunk(*, append: bool = False, last_chunk: bool = False) -> Append:
    """Return the effect that logs a chunk of REPORT."""
    return Append(
        TaskArtifactUpdateEvent(
            task_id="t-1", context_id="c-1", artifact=REPORT, append=append, last_chunk=last_chunk
        )
    )


class Rule(NamedTuple):
    """A command, the states it is allowed in, where it leads and what it causes there."""

    command: Command
    allowed: tuple[TaskState | None, ...]
    target: TaskState
    effects: tuple[Effect, ...]
    refusal: type[A2AError]


RULES = {
    # Only what is not there yet can begin.
    "begin": Rule(
        Begin(HELLO),
        UNBEGUN,
        SUBMITTED,
        (Record(HELLO), status(SUBMITTED), NextTurn()),
        AGENT_ERROR,
    ),
    # A message answers the question of a task that waits; see below for one that does not.
    "deliver": Rule(
        Deliver(HELLO),
        INTERRUPTED,
        WORKING,
        (Record(HELLO), status(WORKING), ResumeTurn(HELLO)),
        UnsupportedOperationError,
    ),
    # Whatever has not ended can be canceled.
    "cancel": Rule(
        Cancel(),
        OPEN,
        CANCELED,
        (status(CANCELED), StopTurn()),
        TaskNotCancelableError,
    ),
    # A turn takes the task up. A task at work may be "started" again: that is only news.
    "start": Rule(Start(), OPEN, WORKING, (status(WORKING),), AGENT_ERROR),
    # The message joins the history when its turn comes, not when it arrives.
    "take up": Rule(
        TakeUp(HELLO),
        OPEN,
        WORKING,
        (Record(HELLO), status(WORKING)),
        AGENT_ERROR,
    ),
    # News come from work.
    "say": Rule(Say(NEWS), (WORKING,), WORKING, (status(WORKING, NEWS),), AGENT_ERROR),
    # So do questions.
    "ask for input": Rule(
        Ask(NEWS, is_auth=False),
        (WORKING,),
        INPUT_REQUIRED,
        (status(INPUT_REQUIRED, NEWS),),
        AGENT_ERROR,
    ),
    "ask for authorization": Rule(
        Ask(NEWS, is_auth=True),
        (WORKING,),
        AUTH_REQUIRED,
        (status(AUTH_REQUIRED, NEWS),),
        AGENT_ERROR,
    ),
    # Every end may come from everywhere, once.
    "complete": Rule(
        Finish(COMPLETED, NEWS), OPEN, COMPLETED, (status(COMPLETED, NEWS),), AGENT_ERROR
    ),
    "complete in silence": Rule(
        Finish(COMPLETED), OPEN, COMPLETED, (status(COMPLETED),), AGENT_ERROR
    ),
    "fail": Rule(Finish(FAILED, NEWS), OPEN, FAILED, (status(FAILED, NEWS),), AGENT_ERROR),
    "reject": Rule(Finish(REJECTED), OPEN, REJECTED, (status(REJECTED),), AGENT_ERROR),
}

ALLOWED = [
    pytest.param(rule, state, id=f"{name} in {state and state.name}")
    for name, rule in RULES.items()
    for state in rule.allowed
]
REFUSED = [
    pytest.param(rule, state, id=f"{name} in {state and state.name}")
    for name, rule in RULES.items()
    for state in EVERY
    # A message for a task that is busy is neither an answer nor refused: it waits.
    if state not in rule.allowed and not (name == "deliver" and state in OPEN)
]


@pytest.mark.parametrize(("rule", "state"), ALLOWED)
def test_an_allowed_command_causes_its_effects_in_order(
    rule: Rule, state: TaskState | None
) -> None:
    _, effects = decide(standing(state), rule.command, NOW_MS)
    assert effects == rule.effects


@pytest.mark.parametrize(("rule", "state"), ALLOWED)
def test_an_allowed_command_moves_the_task_by_one_event(
    rule: Rule, state: TaskState | None
) -> None:
    before = standing(state, unread=1 if isinstance(rule.command, TakeUp) else 0)
    after, _ = decide(before, rule.command, NOW_MS)
    assert after == replace(before, state=rule.target, seq=8, unread=0)


@pytest.mark.parametrize(("rule", "state"), REFUSED)
def test_a_refused_command_raises_its_error_and_changes_nothing(
    rule: Rule, state: TaskState | None
) -> None:
    before = standing(state, a_1=True)
    with pytest.raises(rule.refusal):
        decide(before, rule.command, NOW_MS)
    assert before == standing(state, a_1=True)


def test_every_command_is_shown_here() -> None:
    # Those without a row are never refused for the state alone; they are further down.
    shown = {type(rule.command) for rule in RULES.values()} | {AddArtifact, GoOn, Withdraw}
    assert shown == set(get_args(Command))


# --- messages from outside --------------------------------------------------------------------


@pytest.mark.parametrize("state", [SUBMITTED, WORKING])
def test_a_message_for_a_busy_task_waits(state: TaskState) -> None:
    before = standing(state, unread=2)
    after, effects = decide(before, Deliver(HELLO), NOW_MS)
    assert effects == (Enqueue(HELLO),)
    assert after == replace(before, unread=3)


@pytest.mark.parametrize("state", [INPUT_REQUIRED, AUTH_REQUIRED])
def test_a_message_that_was_sent_before_the_question_waits(state: TaskState) -> None:
    before = standing(state, unread=2)
    after, effects = decide(before, Deliver(HELLO, is_answer=False), NOW_MS)
    assert effects == (Enqueue(HELLO),)
    assert after == replace(before, unread=3)


@pytest.mark.parametrize("state", OPEN)
def test_a_message_that_could_not_be_stored_is_no_longer_waited_for(state: TaskState) -> None:
    before = standing(state, unread=2)
    assert decide(before, Withdraw(), NOW_MS) == (replace(before, unread=1), ())


def test_a_message_that_an_end_has_dealt_with_need_not_be_withdrawn() -> None:
    before = standing(CANCELED)
    assert decide(before, Withdraw(), NOW_MS) == (before, ())


@pytest.mark.requirement("R-3.1.1-2")
@pytest.mark.parametrize("state", ENDED)
def test_a_message_for_an_ended_task_is_refused_and_told_why(state: TaskState) -> None:
    with pytest.raises(UnsupportedOperationError) as caught:
        decide(standing(state), Deliver(HELLO), NOW_MS)
    assert caught.value.metadata == {"taskId": "t-1", "state": state.value}


@pytest.mark.requirement("R-3.1.5-3", "R-3.3.1-4")
@pytest.mark.parametrize("state", ENDED)
def test_cancel_of_an_ended_task_is_refused_and_told_why(state: TaskState) -> None:
    with pytest.raises(TaskNotCancelableError) as caught:
        decide(standing(state), Cancel(), NOW_MS)
    assert caught.value.metadata == {"taskId": "t-1", "state": state.value}


def test_cancel_leaves_no_message_waiting() -> None:
    after, _ = decide(standing(WORKING, unread=2), Cancel(), NOW_MS)
    assert after.unread == 0


# --- questions nobody waits for any more ------------------------------------------------------


@pytest.mark.parametrize("state", INTERRUPTED)
def test_a_turn_that_gives_up_waiting_works_on(state: TaskState) -> None:
    before = standing(state, unread=1)
    after, effects = decide(before, GoOn(), NOW_MS)
    assert effects == (status(WORKING),)
    assert after == replace(before, state=WORKING, seq=8)


@pytest.mark.parametrize("state", [state for state in EVERY if state not in INTERRUPTED])
def test_where_nothing_is_asked_there_is_nothing_to_give_up(state: TaskState | None) -> None:
    before = standing(state)
    assert decide(before, GoOn(), NOW_MS) == (before, ())


# --- the end of a turn ------------------------------------------------------------------------


def test_a_turn_that_completes_while_messages_wait_is_followed_by_the_next() -> None:
    before = standing(WORKING, unread=1)
    assert decide(before, Finish(COMPLETED), NOW_MS) == (before, (NextTurn(),))


def test_its_message_is_published_as_news() -> None:
    after, effects = decide(standing(WORKING, unread=1), Finish(COMPLETED, NEWS), NOW_MS)
    assert effects == (status(WORKING, NEWS), NextTurn())
    assert (after.state, after.unread) == (WORKING, 1)


@pytest.mark.parametrize("state", [FAILED, REJECTED])
def test_a_turn_that_fails_ends_the_task_although_messages_wait(state: TaskState) -> None:
    after, effects = decide(standing(WORKING, unread=1), Finish(state), NOW_MS)
    assert effects == (status(state),)
    assert (after.state, after.unread) == (state, 0)


# --- artifacts --------------------------------------------------------------------------------


@pytest.mark.parametrize("state", OPEN)
def test_a_new_artifact_is_logged_and_stays_open(state: TaskState) -> None:
    before = standing(state)
    after, effects = decide(before, AddArtifact(REPORT, append=False, last_chunk=False), NOW_MS)
    assert effects == (chunk(),)
    assert after == replace(before, seq=8, artifacts={"a-1": True})


@pytest.mark.parametrize("state", [*UNBEGUN, *ENDED])
def test_a_task_that_is_not_open_takes_no_artifact(state: TaskState | None) -> None:
    with pytest.raises(InvalidAgentResponseError, match="takes no more artifacts"):
        decide(standing(state), AddArtifact(REPORT, append=False, last_chunk=True), NOW_MS)


def test_a_chunk_is_appended_to_an_open_artifact() -> None:
    before = standing(WORKING, a_1=True)
    after, effects = decide(before, AddArtifact(REPORT, append=True, last_chunk=False), NOW_MS)
    assert effects == (chunk(append=True),)
    assert after == replace(before, seq=8)


@pytest.mark.requirement("R-4.2.2-2")
def test_the_last_chunk_closes_the_artifact() -> None:
    before = standing(WORKING, a_1=True, a_2=True)
    after, effects = decide(before, AddArtifact(REPORT, append=True, last_chunk=True), NOW_MS)
    assert effects == (chunk(append=True, last_chunk=True),)
    assert after.artifacts == {"a-1": False, "a-2": True}


def test_closing_an_artifact_does_not_reach_into_the_past() -> None:
    before = standing(WORKING, a_1=True)
    decide(before, AddArtifact(REPORT, append=True, last_chunk=True), NOW_MS)
    assert before.artifacts == {"a-1": True}


@pytest.mark.requirement("R-4.2.2-2")
def test_nothing_is_appended_after_the_last_chunk() -> None:
    with pytest.raises(InvalidAgentResponseError, match="'a-1' has had its last chunk"):
        decide(
            standing(WORKING, a_1=False), AddArtifact(REPORT, append=True, last_chunk=False), NOW_MS
        )


def test_nothing_is_appended_to_what_is_not_there() -> None:
    with pytest.raises(InvalidAgentResponseError, match="no artifact 'a-1' to append to"):
        decide(standing(WORKING), AddArtifact(REPORT, append=True, last_chunk=False), NOW_MS)


def test_a_closed_artifact_may_be_replaced_and_is_open_again() -> None:
    command = AddArtifact(REPORT, append=False, last_chunk=False)
    after, effects = decide(standing(WORKING, a_1=False), command, NOW_MS)
    assert effects == (chunk(),)
    assert after.artifacts == {"a-1": True}


def test_an_artifact_of_one_chunk_is_closed_at_once() -> None:
    command = AddArtifact(REPORT, append=False, last_chunk=True)
    after, _ = decide(standing(WORKING), command, NOW_MS)
    assert after.artifacts == {"a-1": False}


# --- standing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("state", EVERY)
def test_a_task_has_ended_in_a_terminal_state_only(state: TaskState | None) -> None:
    assert standing(state).has_ended == (state in TERMINAL)
