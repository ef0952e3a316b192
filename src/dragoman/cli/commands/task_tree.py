"""dragoman task tree: a task, and what other agents do for it."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.agent.children import MOST_CALLS, SubTask, sub_task_of
from dragoman.cli.command import Invocation
from dragoman.cli.commands.task import declare_task
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.session.target import tls_of
from dragoman.cli.views.labels import Lines
from dragoman.client.connect import connect
from dragoman.errors import DragomanError
from dragoman.model.operations import GetTaskRequest
from dragoman.model.tasks import Task

__all__ = ("TREE",)


class _Node(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A task in the tree.

    Attributes:
        agent: what its parent calls the agent; of the first, the name in its card.
        problem: why it could not be read.
    """

    agent: str
    task_id: str
    url: str = ""
    state: str = ""
    problem: str = ""
    children: tuple[_Node, ...] = ()


async def _tree(invocation: Invocation, session: Session) -> None:
    task_id = invocation.arguments.task
    document = await session.service.get_task(GetTaskRequest(id=task_id), session.call)
    task = document.task()
    invocation.progress.see_task(task)
    root = _Node(
        agent=session.card.name,
        task_id=task_id,
        state=task.status.state.value,
        children=await _children(invocation, task, above=(task_id,)),
    )
    invocation.output.show(msgspec.json.encode(root), lambda: _drawn(root, Lines()))


async def _children(
    invocation: Invocation, task: Task, above: tuple[str, ...]
) -> tuple[_Node, ...]:
    found: dict[tuple[str, str], SubTask] = {}
    said = (*task.history, *((task.status.message,) if task.status.message else ()))
    for message in said:
        child = sub_task_of(message.metadata)
        if child is not None:
            found[child.url or child.agent, child.task_id] = child
    return tuple([await _grow(invocation, child, above) for child in found.values()])


async def _grow(invocation: Invocation, child: SubTask, above: tuple[str, ...]) -> _Node:
    """Ask the agent of a child for it. Credentials are for the agent that the user has named."""
    node = _Node(agent=child.agent, task_id=child.task_id, url=child.url, state=child.state)
    if not child.url:
        return replace(node, problem="it is in the process of its parent")
    if child.task_id in above or len(above) > MOST_CALLS:
        return replace(node, problem="calls go in a circle")
    tls = tls_of(invocation.settings, invocation.surroundings.folder)
    try:
        async with connect(child.url, ca_file=tls.ca_file, insecure=tls.is_insecure) as agent:
            task = (await agent.task(child.task_id).get()).task
    except DragomanError as problem:
        return replace(node, problem=str(problem))
    if task is None:
        return node
    return replace(
        node,
        state=task.status.state.value,
        children=await _children(invocation, task, (*above, child.task_id)),
    )


def _drawn(node: _Node, lines: Lines, lead: str = "", tail: str = "") -> Lines:
    """Draw a task after ``lead``, and what is below it after ``tail``."""
    problem = f" ({node.problem})" if node.problem else ""
    lines.line(f"{lead}{node.agent} {node.task_id} {node.state}{problem}")
    for child in node.children:
        is_last = child is node.children[-1]
        fork, trunk = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        _drawn(child, lines, tail + fork, tail + trunk)
    return lines


TREE: Final = agent_command(_tree, declare=declare_task)
