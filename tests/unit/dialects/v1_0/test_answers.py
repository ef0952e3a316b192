"""Answers of 1.0: what is left out, what cannot be read, and words of other versions."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest
from msgspec import Struct

from dragoman.dialects.v1_0.decode import Form
from dragoman.errors import InvalidParamsError
from dragoman.model.cards import AgentCard
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message, Role
from dragoman.model.operations import ListTasksResponse, SendMessageResponse
from dragoman.model.tasks import UNSPECIFIED, Task, TaskStatus

T = TypeVar("T", bound=Struct)

MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
DONE: dict[str, Any] = {"state": "TASK_STATE_COMPLETED"}


def read(kind: type[T], wire: object) -> T:
    return Form(kind, is_answer=True).decode(json.dumps(wire).encode())


def refused(kind: type[T], wire: object) -> str:
    with pytest.raises(InvalidParamsError) as caught:
        read(kind, wire)
    return caught.value.violations[0].field


# --- what is left out -----------------------------------------------------------------------------


def test_what_is_left_out_is_empty() -> None:
    page = read(ListTasksResponse, {})
    assert (page.tasks, page.next_page_token, page.total_size) == ((), "", 0)


def test_a_member_of_the_wrong_type_counts_as_left_out() -> None:
    task = read(Task, {"id": "t", "contextId": 5, "status": {**DONE, "timestamp": 7}})
    assert (task.context_id, task.status.timestamp) == ("", None)


def test_an_element_that_cannot_be_read_is_left_out() -> None:
    tasks = [{"id": "t", "status": DONE}, {"id": ""}, {"status": DONE}, 5, None]
    assert [task.id for task in read(ListTasksResponse, {"tasks": tasks}).tasks] == ["t"]


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        ({"task": {"status": DONE}}, "task.id"),
        ({"task": {"id": "t"}}, "task.status"),
        ({"task": 5}, "task"),
        ({}, ""),
        ({"kind": "hologram"}, ""),
    ],
)
def test_what_makes_no_answer_is_refused_by_path(wire: object, field: str) -> None:
    assert refused(SendMessageResponse, wire) == field


@pytest.mark.parametrize("card", [{"name": "A"}, {"name": "A", "url": "https://a.example/"}])
def test_what_has_no_interfaces_is_no_card_of_1_0(card: dict[str, object]) -> None:
    assert refused(AgentCard, card) == "supportedInterfaces"


@pytest.mark.parametrize(
    "demand",
    [{"securityRequirements": [5]}, {"securitySchemes": {"key": {"type": "apiKey"}}}],
)
def test_what_a_card_demands_must_be_read(demand: dict[str, object]) -> None:
    card: dict[str, object] = {"name": "A", "supportedInterfaces": [], **demand}
    assert refused(AgentCard, card).startswith(next(iter(demand)))


# --- words of other versions ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["task", "message"])
def test_a_result_is_known_by_its_kind(kind: str) -> None:
    members = MESSAGE if kind == "message" else {"id": "t", "status": {"state": "completed"}}
    found = read(StreamResponse, {"kind": kind, **members})
    assert getattr(found, kind) is not None


def test_a_file_of_0_3_is_a_file() -> None:
    file = {"kind": "file", "file": {"bytes": "aGk=", "name": "a.txt"}}
    part = read(Message, {**MESSAGE, "parts": [file]}).parts[0]
    assert (part.raw, part.filename) == (b"hi", "a.txt")


@pytest.mark.parametrize("unset", [{}, {"state": 0}, {"state": "TASK_STATE_UNSPECIFIED"}])
def test_an_answer_may_leave_a_state_unspecified(unset: object) -> None:
    assert read(TaskStatus, unset).state is UNSPECIFIED


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("TASK_STATE_PAUSED", "TASK_STATE_PAUSED"),
        (9, "TASK_STATE_9"),
        (2, "TASK_STATE_WORKING"),
        ("TASK_STATE_WORKING", "TASK_STATE_WORKING"),
        ("working", "TASK_STATE_WORKING"),
    ],
)
def test_a_state_of_a_later_version_keeps_its_name_in_an_answer(written: object, name: str) -> None:
    assert read(TaskStatus, {"state": written}).state.value == name


@pytest.mark.parametrize("written", ["", True, 1.5, ["x"], {}])
def test_what_is_no_state_is_unspecified(written: object) -> None:
    assert read(TaskStatus, {"state": written}).state is UNSPECIFIED


@pytest.mark.parametrize("role", ["ROLE_JUDGE", "ROLE_UNSPECIFIED", 0, 9, None])
def test_an_unknown_role_in_an_answer_is_that_of_who_answers(role: object) -> None:
    assert read(Message, MESSAGE | {"role": role}).role is Role.AGENT
