"""The engine under any sequence of commands: the table holds, numbers have no gaps, folds agree.

The model beside it is as plain as can be: lists that are only ever appended to.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from dragoman.engine.effects import Append, Effect, Enqueue, Record
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing, decide
from dragoman.engine.states import MOVES
from dragoman.errors import A2AError
from dragoman.model.documents import TaskDocument, encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TERMINAL, Artifact, Task, TaskState
from dragoman.model.timestamps import parse_timestamp
from tests.support.strategies import json_objects, part_values, string_lists, texts

START_MS: Final = 1_700_000_000_000

# --- what may happen ----------------------------------------------------------------------------

plain_parts = st.builds(Part, text=texts)
chunks = st.one_of(
    # Most chunks are what a language model gives: a few characters.
    plain_parts.map(lambda part: (part,)),
    st.lists(plain_parts | part_values, min_size=1, max_size=3).map(tuple),
)
artifacts = st.builds(
    Artifact,
    artifact_id=st.sampled_from(["a", "b"]),
    name=st.just("") | texts,
    description=st.just("") | texts,
    parts=chunks,
    metadata=st.none() | json_objects,
    extensions=st.just(()) | string_lists,
)
messages = st.builds(
    Message,
    message_id=st.sampled_from(["m-1", "m-2", "m-3"]),
    role=st.sampled_from(Role),
    parts=plain_parts.map(lambda part: (part,)),
)
steps: st.SearchStrategy[Command] = st.one_of(
    st.builds(AddArtifact, artifacts, st.booleans(), st.booleans()),
    st.builds(Say, messages),
    st.builds(Deliver, messages),
    st.builds(TakeUp, messages),
    st.builds(Ask, messages, st.booleans()),
    st.just(Start()),
    st.just(GoOn()),
    st.just(Withdraw()),
    st.builds(Begin, messages),
)
ends: st.SearchStrategy[Command] = st.just(Cancel()) | st.builds(
    Finish, st.sampled_from(sorted(TERMINAL, key=str)), st.none() | messages
)
commands = steps | ends
# A long life, then anything: if every other command ended it there would be little to see.
sequences = st.tuples(st.lists(steps, max_size=30), st.lists(commands, max_size=5)).map(
    lambda lives: lives[0] + lives[1]
)


class Run:
    """A task and everything that has happened to it."""

    def __init__(self) -> None:
        self.standing = Standing(task_id="t", context_id="c")
        self.log: list[TaskEvent | Message] = []
        self.inbox: list[Message] = []
        self.now_ms = START_MS

    @property
    def events(self) -> list[TaskEvent]:
        return [entry for entry in self.log if not isinstance(entry, Message)]

    @property
    def entries(self) -> list[bytes]:
        return [encode_entry(entry) for entry in self.log]

    def do(self, command: Command) -> tuple[Effect, ...] | None:
        """Try a command; return its effects, None when it was refused."""
        if isinstance(command, TakeUp) and not self.inbox:
            return None  # A runner takes up what is in the inbox and nothing else.
        self.now_ms += 1
        try:
            self.standing, effects = decide(self.standing, command, self.now_ms)
        except A2AError:
            return None
        if isinstance(command, TakeUp | Withdraw):
            del self.inbox[:1]
        for effect in effects:
            if isinstance(effect, Append):
                self.log.append(effect.event)
            elif isinstance(effect, Record):
                self.log.append(effect.message)
            elif isinstance(effect, Enqueue):
                self.inbox.append(effect.message)
        if self.standing.has_ended:
            self.inbox.clear()
        return effects


def run_of(sequence: list[Command]) -> Run:
    """Begin a task and put it through a sequence."""
    run = Run()
    for command in (
        Begin(Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))),
        Start(),
    ):
        run.do(command)
    for command in sequence:
        run.do(command)
    return run


# --- the machine --------------------------------------------------------------------------------


@pytest.mark.requirement("R-T.lot-1")
@given(sequences)
def test_every_move_is_in_the_table_and_a_task_begins_at_its_beginning(
    sequence: list[Command],
) -> None:
    run = Run()
    for command in sequence:
        run.do(command)
    states = [
        event.status.state for event in run.events if isinstance(event, TaskStatusUpdateEvent)
    ]
    assert states[:1] in ([], [TaskState.SUBMITTED])
    for origin, target in pairwise(states):
        assert origin not in TERMINAL
        assert target in MOVES[origin]
    assert run.standing.state == (states[-1] if states else None)


@given(sequences)
def test_every_event_has_the_next_number(sequence: list[Command]) -> None:
    run = Run()
    for command in sequence:
        seq = run.standing.seq
        effects = run.do(command) or ()
        appended = sum(isinstance(effect, Append) for effect in effects)
        assert run.standing.seq == seq + appended
    assert run.standing.seq == len(run.events)


@given(sequences, commands)
def test_a_refused_command_changes_nothing(sequence: list[Command], command: Command) -> None:
    run = run_of(sequence)
    before, copy = run.standing, deepcopy(run.standing)
    if run.do(command) is None:
        assert run.standing is before
        assert run.standing == copy


@given(sequences, commands)
def test_a_command_does_not_change_the_standing_it_was_given(
    sequence: list[Command], command: Command
) -> None:
    run = run_of(sequence)
    before, copy = run.standing, deepcopy(run.standing)
    run.do(command)
    assert before == copy


@pytest.mark.requirement("R-T.lot-1")
@pytest.mark.parametrize("end", sorted(TERMINAL, key=str))
@given(st.lists(steps, max_size=30), st.lists(commands, min_size=1, max_size=10))
def test_what_has_ended_stays_as_it_is(
    end: TaskState, sequence: list[Command], late: list[Command]
) -> None:
    run = run_of([*sequence, GoOn()])
    while run.inbox:
        run.do(Withdraw())
    run.do(Finish(end))
    entries = len(run.log)
    for command in late:
        # Refused, or without effect: nobody is left to go on or to withdraw from.
        assert not run.do(command)
    assert len(run.log) == entries
    assert run.standing.state is end


@given(sequences)
def test_the_unread_are_counted_as_they_are(sequence: list[Command]) -> None:
    run = Run()
    for command in sequence:
        run.do(command)
        assert run.standing.unread == len(run.inbox)


@given(st.lists(steps, max_size=30), messages, st.none() | messages)
def test_nobody_completes_over_an_unread_message(
    sequence: list[Command], unread: Message, last: Message | None
) -> None:
    run = run_of([*sequence, GoOn(), Deliver(unread)])
    assert run.inbox
    run.do(Finish(TaskState.COMPLETED, last))
    assert run.standing.state is TaskState.WORKING


@given(sequences)
def test_every_status_is_stamped_in_order(sequence: list[Command]) -> None:
    run = run_of(sequence)
    stamps = [
        parse_timestamp(event.status.timestamp or "")
        for event in run.events
        if isinstance(event, TaskStatusUpdateEvent)
    ]
    assert stamps == sorted(stamps)
    assert stamps[0] > START_MS


# --- artifacts ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-4.2.2-1", "R-4.2.2-2", "R-4.1.7-2")
@given(st.lists(st.builds(AddArtifact, artifacts, st.booleans(), st.booleans()), max_size=20))
def test_a_chunk_is_taken_only_by_an_artifact_that_is_open(chunked: list[AddArtifact]) -> None:
    run = run_of([])
    is_open: dict[str, bool] = {}
    for command in chunked:
        artifact_id = command.artifact.artifact_id
        is_taken = not command.append or is_open.get(artifact_id, False)
        assert (run.do(command) is not None) == is_taken
        if is_taken:
            is_open[artifact_id] = not command.last_chunk
    assert run.standing.artifacts == is_open


@pytest.mark.requirement("R-4.2.2-1")
@given(st.lists(texts, min_size=1, max_size=30))
def test_the_chunks_of_a_text_read_as_the_text(pieces: list[str]) -> None:
    run = run_of([])
    for number, piece in enumerate(pieces):
        artifact = Artifact(artifact_id="a", parts=(Part(text=piece),))
        run.do(AddArtifact(artifact, number > 0, number == len(pieces) - 1))
    (artifact,) = folded(run.log).artifacts
    assert artifact.parts == (Part(text="".join(pieces)),)


@given(sequences)
def test_joining_loses_no_word_and_no_other_part(sequence: list[Command]) -> None:
    run = run_of(sequence)
    expected: dict[str, list[Part]] = {}
    for event in run.events:
        if isinstance(event, TaskArtifactUpdateEvent):
            parts = expected.setdefault(event.artifact.artifact_id, [])
            if not event.append:
                parts.clear()
            parts.extend(event.artifact.parts)
    found = {item.artifact_id: item.parts for item in folded(run.log).artifacts}
    assert found.keys() == expected.keys()
    for artifact_id, parts in expected.items():
        assert essence(found[artifact_id]) == essence(parts)


@given(sequences)
def test_ids_of_artifacts_are_unique(sequence: list[Command]) -> None:
    ids = [artifact.artifact_id for artifact in folded(run_of(sequence).log).artifacts]
    assert len(ids) == len(set(ids))


def essence(parts: list[Part] | tuple[Part, ...]) -> list[object]:
    """Return the parts with neighbouring plain texts run together, and empty ones left out."""
    found: list[object] = []
    for part in parts:
        if part.text is None or part != Part(text=part.text):
            found.append(part)
        elif found and isinstance(found[-1], str):
            found[-1] += part.text or ""
        elif part.text:
            found.append(part.text)
    return found


# --- the fold -----------------------------------------------------------------------------------


def folded(log: list[TaskEvent | Message]) -> Task:
    """Return what a log comes to."""
    fold = TaskFold("t", "c")
    fold.replay([encode_entry(entry) for entry in log])
    return fold.task()


@given(sequences)
def test_a_snapshot_and_the_rest_come_to_the_same_as_everything(sequence: list[Command]) -> None:
    entries = run_of(sequence).entries
    whole = TaskFold("t", "c")
    whole.replay(entries)
    # The first entry is a message; there is no task before the first event.
    for at in range(2, len(entries) + 1):
        early = TaskFold("t", "c")
        early.replay(entries[:at])
        late = TaskFold.of(early.document().task())
        late.replay(entries[at:])
        assert late.document().json() == whole.document().json()


@given(sequences)
def test_looking_at_a_fold_does_not_change_what_it_becomes(sequence: list[Command]) -> None:
    run = run_of(sequence)
    fold = TaskFold("t", "c")
    for number, entry in enumerate(run.entries):
        fold.replay([entry])
        if number:
            fold.document()
    assert fold.task() == folded(run.log)


@given(sequences)
def test_applying_an_event_is_the_same_as_replaying_its_entry(sequence: list[Command]) -> None:
    run = run_of(sequence)
    fold = TaskFold("t", "c")
    for entry in run.log:
        if isinstance(entry, Message):
            fold.record(entry)
        else:
            fold.apply(entry)
    assert fold.document().json() == TaskDocument.of(folded(run.log)).json()


@given(sequences)
def test_the_history_is_what_was_said_in_the_order_it_was_said(sequence: list[Command]) -> None:
    run = run_of(sequence)
    said: list[Message] = []
    current: Message | None = None
    for entry in run.log:
        if isinstance(entry, TaskArtifactUpdateEvent):
            continue
        # a status message becomes history when something replaces it.
        if current is not None:
            said.append(current)
        current = None
        if isinstance(entry, Message):
            said.append(entry)
        else:
            current = entry.status.message
    task = folded(run.log)
    assert list(task.history) == said
    assert task.status.message == current
    assert task.status.state == run.standing.state


@given(sequences)
def test_the_fold_and_the_standing_know_the_same_artifacts(sequence: list[Command]) -> None:
    run = run_of(sequence)
    assert {item.artifact_id for item in folded(run.log).artifacts} == set(run.standing.artifacts)
