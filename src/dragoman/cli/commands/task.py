"""dragoman task get, list, cancel, subscribe and tree."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.agent.children import MOST_CALLS, SubTask, sub_task_of
from dragoman.cli.command import Invocation
from dragoman.cli.commands.send import HISTORY
from dragoman.cli.options import values
from dragoman.cli.options.options import CONTEXT_ID, METADATA, STREAM, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.following import authorized, beyond_authorization, waits
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.session.target import tls_of
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.outcome import note_polling, show_end, show_event, show_task
from dragoman.cli.views.task import summary_lines, task_lines
from dragoman.client.connect import connect
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import DragomanError, TaskNotCancelableError
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest, ListTasksRequest, Operation
from dragoman.model.tasks import Task, TaskState

__all__ = (
    "CANCEL",
    "GET",
    "LIST",
    "SUBSCRIBE",
    "TREE",
    "declare_task",
)


def declare_task(parser: Parser) -> None:
    """Add the argument that names a task."""
    parser.add_argument("task", metavar="TASK_ID", help="id of the task")


# --- get ------------------------------------------------------------------------------------------


def _declare_get(parser: Parser) -> None:
    declare_task(parser)
    parser.add_options((HISTORY,))


async def _get(invocation: Invocation, session: Session) -> None:
    settings = invocation.settings
    request = GetTaskRequest(id=invocation.arguments.task, history_length=settings[HISTORY])
    follower = session.follower
    if waits(settings, by_default=False):
        document = await follower.settled(request)
        while await authorized(invocation, session.follower):
            document = await follower.settled(request)
    else:
        document = await follower.look(request)
    show_task(invocation, document)


# --- cancel ---------------------------------------------------------------------------------------


async def _cancel(invocation: Invocation, session: Session) -> None:
    task_id = invocation.arguments.task
    request = CancelTaskRequest(id=task_id, metadata=invocation.settings[METADATA])
    try:
        document = await session.service.cancel_task(request, session.call)
    except TaskNotCancelableError:
        document = await session.follower.look(GetTaskRequest(id=task_id))
        # Safe to repeat: a task that is canceled already is what was asked for.
        if document.task().status.state is not TaskState.CANCELED:
            raise
    show_task(invocation, document)


# --- subscribe ------------------------------------------------------------------------------------


async def _subscribe(invocation: Invocation, session: Session) -> None:
    note_polling(invocation, session.card)
    is_live = invocation.settings[STREAM]
    followed = session.follower.subscribe(invocation.arguments.task)
    async with aclosing(beyond_authorization(invocation, session.follower, followed)) as events:
        async for event in events:
            if is_live:
                show_event(invocation, event)
    if is_live:
        show_end(invocation)
        return
    outcome = await session.follower.outcome()
    if isinstance(outcome, TaskDocument):
        show_task(invocation, outcome)


GET: Final = agent_command(_get, declare=_declare_get)
CANCEL: Final = agent_command(_cancel, declare=declare_task)
SUBSCRIBE: Final = agent_command(_subscribe, declare=declare_task, is_live=True)


# --- list -----------------------------------------------------------------------------------------

_STATUS: Final = Option[TaskState | None](
    name="status",
    metavar="STATE",
    read=values.task_state,
    default=None,
    is_configurable=False,
    choices=tuple(state.name.lower().replace("_", "-") for state in TaskState),
    help="only tasks in this state, such as working or input-required",
)
_PAGE_SIZE: Final = Option[int | None](
    name="page-size",
    metavar="N",
    aliases=("--limit",),
    read=values.page_size,
    default=None,
    is_configurable=False,
    help="tasks on a page, 1 to 100; the agent decides if this is left out",
)
_PAGE_TOKEN: Final = Option[str | None](
    name="page-token",
    metavar="TOKEN",
    default=None,
    is_configurable=False,
    help="page to show, as the page before it tells",
)
_SINCE: Final = Option[str | None](
    name="since",
    metavar="TIME",
    read=values.timestamp,
    default=None,
    is_configurable=False,
    help="only tasks that changed at or after this time, such as 2026-01-31T12:00:00Z",
)
_WITH_ARTIFACTS: Final = Option[bool](
    name="with-artifacts",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="show the results, too",
)
_ALL: Final = Option[bool](
    name="all",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="show all pages as one",
)


def _declare(parser: Parser) -> None:
    parser.add_options((_STATUS, _PAGE_SIZE, _PAGE_TOKEN, _SINCE, HISTORY, _WITH_ARTIFACTS, _ALL))


async def _list(invocation: Invocation, session: Session) -> None:
    settings, output = invocation.settings, invocation.output
    pages: list[TaskPage] = []
    async for page in _pages(settings, session):
        pages.append(page)
        if settings[STREAM]:
            for document in page.tasks:
                output.show(document.json(), partial(_record, invocation, document))
    last = pages[-1]
    if not settings[STREAM]:
        tasks = tuple(document for page in pages for document in page.tasks)
        whole = TaskPage(
            tasks=tasks,
            next_page_token=last.next_page_token,
            page_size=len(tasks) if settings[_ALL] else last.page_size,
            total_size=last.total_size,
        )
        document = V1_0_DIALECT.encode_result(Operation.LIST_TASKS, whole)
        output.show(document, partial(_lines, invocation, whole))
    elif last.next_page_token:
        # On standard output every line is a task.
        output.note(f"Next page: {last.next_page_token}")


async def _pages(settings: Settings, session: Session) -> AsyncGenerator[TaskPage]:
    token = settings[_PAGE_TOKEN] or ""
    while True:
        request = ListTasksRequest(
            context_id=settings[CONTEXT_ID] or "",
            status=settings[_STATUS],
            page_size=settings[_PAGE_SIZE],
            page_token=token,
            history_length=settings[HISTORY],
            status_timestamp_after=settings[_SINCE],
            include_artifacts=settings[_WITH_ARTIFACTS] or None,
        )
        page = await session.service.list_tasks(request, session.call)
        yield page
        token = page.next_page_token
        if not token or not settings[_ALL]:
            return


def _lines(invocation: Invocation, page: TaskPage) -> Lines:
    lines = Lines()
    for document in page.tasks:
        lines.add(_record(invocation, document))
    lines.field("Total", page.total_size)
    if page.next_page_token:
        lines.field("Next page", page.next_page_token)
    return lines


def _record(invocation: Invocation, document: TaskDocument) -> Lines:
    if document.artifacts is None and not invocation.output.is_verbose:
        return summary_lines(document.task()).gap()
    return task_lines(document.task(), is_verbose=invocation.output.is_verbose).gap()


LIST: Final = agent_command(_list, declare=_declare)


# --- tree -----------------------------------------------------------------------------------------


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
