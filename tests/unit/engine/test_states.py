import pytest

from dragoman.engine.states import BEGINNING, MOVES, is_legal
from dragoman.model.tasks import INTERRUPTED, TERMINAL, TaskState

STATES = tuple(TaskState)

LEGAL = {
    # Taken up by a turn, or ended before one could.
    "SUBMITTED": "WORKING COMPLETED FAILED CANCELED REJECTED",
    # News, a question to the client, or the end.
    "WORKING": "WORKING INPUT_REQUIRED AUTH_REQUIRED COMPLETED FAILED CANCELED REJECTED",
    # An answer leads back to work; the end may also come without one.
    "INPUT_REQUIRED": "WORKING COMPLETED FAILED CANCELED REJECTED",
    "AUTH_REQUIRED": "WORKING COMPLETED FAILED CANCELED REJECTED",
    # What has ended stays so.
    "COMPLETED": "",
    "FAILED": "",
    "CANCELED": "",
    "REJECTED": "",
}
"""Every move there is, spelled out a second time: a change of the table shows up here."""


def test_every_state_has_a_row() -> None:
    assert set(MOVES) == set(STATES)


def test_a_task_begins_as_submitted() -> None:
    assert BEGINNING is TaskState.SUBMITTED


@pytest.mark.parametrize("origin", STATES)
@pytest.mark.parametrize("target", STATES)
def test_every_move_is_decided(origin: TaskState, target: TaskState) -> None:
    assert is_legal(origin, target) == (target.name in LEGAL[origin.name].split())


@pytest.mark.parametrize("state", [state for state in STATES if state in TERMINAL])
def test_no_move_leaves_a_terminal_state(state: TaskState) -> None:
    assert not MOVES[state]


@pytest.mark.parametrize("state", [state for state in STATES if state in INTERRUPTED])
def test_an_interrupted_task_can_go_on_working(state: TaskState) -> None:
    assert is_legal(state, TaskState.WORKING)


def test_no_move_leads_back_to_the_beginning() -> None:
    assert not any(BEGINNING in targets for targets in MOVES.values())


def test_every_task_can_be_canceled_until_it_has_ended() -> None:
    assert {state for state in STATES if is_legal(state, TaskState.CANCELED)} == (
        set(STATES) - TERMINAL
    )
