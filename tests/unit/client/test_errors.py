import pytest

from dragoman.client.errors import (
    CardInvalidError,
    CardNotFoundError,
    ClientError,
    CutError,
    NoInterfaceError,
    ProtocolError,
    TaskNotCompletedError,
    TimedOutError,
    UnreachableError,
    as_a2a_error,
)
from dragoman.errors import A2AError, InvalidAgentResponseError, UnavailableError, spelling_of
from dragoman.model.tasks import TaskState

PROBLEMS = [
    (UnreachableError("http://a:1", "refused"), "http://a:1 cannot be reached: refused"),
    (TimedOutError("late"), "late"),
    (
        CutError("http://a:1", "reset", task_id="t"),
        "the connection to http://a:1 was lost while following task t: reset",
    ),
    (CutError("http://a:1", "reset"), "the connection to http://a:1 was lost: reset"),
    (ProtocolError("http://a:1", "HTML"), "http://a:1 does not answer in A2A: HTML"),
    (
        CardNotFoundError((("http://a/x", "HTTP status 404"), ("http://a/y", "HTML"))),
        "no agent card was found (http://a/x: HTTP status 404; http://a/y: HTML)",
    ),
    (CardInvalidError("card.json", "name is required"), "card.json is no valid agent card: "),
    (
        NoInterfaceError(("GRPC 2.0",), "of version 1.0"),
        "the agent has no interface that is of version 1.0; it offers GRPC 2.0",
    ),
    (
        NoInterfaceError(()),
        "the agent has no interface that this client speaks; it offers none at all",
    ),
]


@pytest.mark.parametrize(("problem", "text"), PROBLEMS, ids=lambda value: type(value).__name__)
def test_a_problem_says_what_happened(problem: ClientError, text: str) -> None:
    assert str(problem).startswith(text)
    # What the agent refuses is another family.
    assert not isinstance(problem, A2AError)


@pytest.mark.parametrize("problem", [problem for problem, _ in PROBLEMS])
def test_what_peers_are_told_names_no_address(problem: ClientError) -> None:
    told = as_a2a_error(problem)
    assert "a:1" not in told.message
    assert spelling_of(told).http in (500, 503)


def test_who_is_away_and_who_talks_nonsense_are_told_apart() -> None:
    assert isinstance(as_a2a_error(CutError("a", "b")), UnavailableError)
    assert isinstance(as_a2a_error(ProtocolError("a", "b")), InvalidAgentResponseError)


def test_a_task_that_did_not_complete() -> None:
    problem = TaskNotCompletedError("t", TaskState.INPUT_REQUIRED, "Which?")
    assert str(problem) == "task t is input required: Which?"
    assert str(TaskNotCompletedError("t", TaskState.FAILED, "")) == "task t is failed"
