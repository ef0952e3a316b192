"""dragoman task list: the caller's tasks, page by page, those that changed last first."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from typing import Final

from dragoman.cli.command import Invocation
from dragoman.cli.commands.send_request import HISTORY
from dragoman.cli.options import values
from dragoman.cli.options.options import CONTEXT_ID, STREAM, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import summary_lines, task_lines
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.operations import ListTasksRequest, Operation
from dragoman.model.tasks import TaskState

__all__ = ("LIST",)

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
