import pytest

from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.client.retry import NEVER, RetryPolicy, is_passing, may_repeat
from dragoman.errors import (
    DragomanError,
    InternalError,
    RateLimitedError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest, Operation
from dragoman.model.push import TaskPushNotificationConfig
from tests.support.client.fakes import send

POLICY = RetryPolicy(attempts=5, first_seconds=1.0, most_seconds=6.0)

CUT = CutError("a", "b")
AWAY = UnreachableError("a", "b")
LATE = TimedOutError("a")
READ = (Operation.GET_TASK, GetTaskRequest(id="t"))
SEND = (Operation.SEND_MESSAGE, send())
CANCEL = (Operation.CANCEL_TASK, CancelTaskRequest(id="t"))
CREATE = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
HOOK = TaskPushNotificationConfig(task_id="t", url="https://hook.test")


def test_each_wait_is_twice_as_long_up_to_the_most() -> None:
    assert [POLICY.delay(n, 1.0) for n in range(1, 6)] == [1.0, 2.0, 4.0, 6.0, 6.0]


def test_half_of_a_wait_is_left_to_chance() -> None:
    assert (POLICY.delay(2, 0.0), POLICY.delay(2, 0.5)) == (1.0, 1.5)


def test_an_agent_that_asks_for_more_gets_it() -> None:
    assert POLICY.delay(1, 1.0, 30.0) == 30.0
    assert POLICY.delay(3, 1.0, 0.5) == 4.0


def test_giving_up() -> None:
    assert [POLICY.gives_up(n) for n in (4, 5)] == [False, True]
    assert NEVER.gives_up(1)
    assert not POLICY.gives_up(1, UnavailableError(retry_after_seconds=100))
    assert POLICY.gives_up(1, UnavailableError(retry_after_seconds=1000))


@pytest.mark.parametrize("problem", [AWAY, UnavailableError(), RateLimitedError()])
def test_what_has_not_been_done_is_tried_again(problem: DragomanError) -> None:
    assert may_repeat(*READ, problem)
    assert may_repeat(*SEND, problem)
    assert may_repeat(CREATE, HOOK, problem)


def test_what_may_have_been_done_is_tried_again_if_that_does_no_harm() -> None:
    assert may_repeat(*READ, CUT)
    assert may_repeat(*SEND, CUT)  # with the same messageId
    assert may_repeat(*CANCEL, CUT)
    assert not may_repeat(CREATE, HOOK, CUT)
    named = TaskPushNotificationConfig(id="p", task_id="t", url="https://hook.test")
    assert may_repeat(CREATE, named, CUT)


def test_what_takes_too_long_is_only_read_again() -> None:
    assert may_repeat(*READ, LATE)
    assert not may_repeat(*SEND, LATE)


@pytest.mark.parametrize(
    "problem", [TaskNotFoundError("t"), InternalError(), ProtocolError("a", "b")]
)
def test_other_failures_are_final(problem: DragomanError) -> None:
    assert not may_repeat(*READ, problem)
    assert not is_passing(problem)
