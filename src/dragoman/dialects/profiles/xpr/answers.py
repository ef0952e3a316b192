"""Answers of an agent of the XPR network, read into the model.

They are read member by member: the network's own servers add members of their own, such as
``owner`` and ``createdAt``, and nothing is made of those.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.tolerant import read_any_part, read_said, read_status
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task

__all__ = ("decode_task",)


def decode_task(data: bytes) -> Task:
    """Read a task. An artifact is called by its number.

    Raises:
        JSONParseError, InvalidParamsError: it is none; the violation says why.
    """
    found = Fields(read_json(data))
    task_id, context_id = found.required_text("id"), found.text("contextId")
    status = read_status(found)
    if status.message is not None:
        status = replace(status, message=_placed(status.message, task_id, context_id))
    return Task(
        id=task_id,
        context_id=context_id,
        status=status,
        artifacts=tuple(
            _read_artifact(Fields(*item), number)
            for number, item in enumerate(found.items("artifacts"))
        ),
        history=tuple(
            _placed(read_said(value, place), task_id, context_id)
            for value, place in found.items("history")
        ),
        metadata=found.free("metadata"),
    )


def _read_artifact(artifact: Fields, number: int) -> Artifact:
    parts = tuple([read_any_part(value, path) for value, path in artifact.items("parts")])
    return Artifact(
        # The number that an artifact states may be that of another, its place is its own.
        artifact_id=f"idx-{number}",
        name=artifact.text("name"),
        description=artifact.text("description"),
        parts=parts or (Part(text=""),),
        metadata=artifact.free("metadata"),
    )


def _placed(message: Message, task_id: str, context_id: str) -> Message:
    return replace(message, task_id=task_id, context_id=context_id)
