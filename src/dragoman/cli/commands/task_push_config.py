"""dragoman task push-config: the webhooks of a task, and a receiver to try them with."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.task import declare_task
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.serving.ports import address_of, listen
from dragoman.cli.serving.webhook import served
from dragoman.cli.session.session import Session, agent_command, run_async, with_agent
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.outcome import show_end, show_event
from dragoman.cli.views.task import push_lines
from dragoman.clock import SystemClock
from dragoman.errors import DragomanError, TaskNotFoundError, UsageError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
)
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.push import Receiver

__all__ = (
    "AUTH_CREDENTIALS",
    "AUTH_SCHEME",
    "CREATE",
    "DELETE",
    "GET",
    "LIST",
    "LISTEN",
    "TOKEN",
    "authentication_of",
)


_URL: Final = Option[str | None](
    name="url",
    metavar="URL",
    default=None,
    is_configurable=False,
    help="where the agent is to send what happens",
)
_ID: Final = Option[str | None](
    name="id",
    metavar="ID",
    default=None,
    is_configurable=False,
    help="id of the webhook; the agent makes one if this is left out",
)
TOKEN: Final = Option[str | None](
    name="token",
    metavar="TOKEN",
    default=None,
    is_secret=True,
    is_configurable=False,
    help="token by which you know the agent's requests",
)
AUTH_SCHEME: Final = Option[str | None](
    name="auth-scheme",
    metavar="NAME",
    default=None,
    is_configurable=False,
    help="how the agent is to authenticate to you, such as Bearer",
)
AUTH_CREDENTIALS: Final = Option[str | None](
    name="auth-credentials",
    metavar="VALUE",
    default=None,
    is_secret=True,
    is_configurable=False,
    help="what the agent is to show you; other users see it in the process table",
)


def _declare_create(parser: Parser) -> None:
    declare_task(parser)
    parser.add_options((_URL, _ID, TOKEN, AUTH_SCHEME, AUTH_CREDENTIALS))


def _declare_one(parser: Parser) -> None:
    declare_task(parser)
    parser.add_argument("config", metavar="CONFIG_ID", help="id of the webhook")


def _create(invocation: Invocation) -> int:
    # What is wrong with it is told before the agent is looked for.
    config = _asked_for(invocation)

    async def work(session: Session) -> None:
        service = session.service
        _show(invocation, await service.create_task_push_notification_config(config, session.call))

    return with_agent(invocation, work)


async def _get(invocation: Invocation, session: Session) -> None:
    request = GetTaskPushNotificationConfigRequest(
        task_id=invocation.arguments.task, id=invocation.arguments.config
    )
    _show(
        invocation,
        await session.service.get_task_push_notification_config(request, session.call),
    )


async def _list(invocation: Invocation, session: Session) -> None:
    request = ListTaskPushNotificationConfigsRequest(task_id=invocation.arguments.task)
    found = await session.service.list_task_push_notification_configs(request, session.call)

    def lines() -> Lines:
        listed = Lines()
        for config in found.configs:
            listed.add(push_lines(config)).gap()
        return listed.field("Total", len(found.configs))

    invocation.output.show(msgspec.json.encode(found), lines)


async def _delete(invocation: Invocation, session: Session) -> None:
    task_id, config_id = invocation.arguments.task, invocation.arguments.config
    request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    empty = await session.service.delete_task_push_notification_config(request, session.call)
    invocation.output.show(
        msgspec.json.encode(empty),
        lambda: Lines().field("Deleted", config_id).field("Task", task_id),
    )


def _show(invocation: Invocation, config: TaskPushNotificationConfig) -> None:
    invocation.output.show(msgspec.json.encode(config), partial(push_lines, config))


def authentication_of(settings: Settings) -> AuthenticationInfo | None:
    """Return how the agent is to authenticate, None if that was not said.

    Raises:
        UsageError: there are credentials without a scheme.
    """
    scheme, credentials = settings[AUTH_SCHEME], settings[AUTH_CREDENTIALS]
    if scheme is not None:
        return AuthenticationInfo(scheme=scheme, credentials=credentials or "")
    if credentials is not None:
        raise UsageError("--auth-credentials needs --auth-scheme")
    return None


def _asked_for(invocation: Invocation) -> TaskPushNotificationConfig:
    settings = invocation.settings
    url = settings[_URL]
    if url is None:
        raise UsageError("--url is missing: where is the agent to send what happens?")
    return TaskPushNotificationConfig(
        id=settings[_ID] or "",
        task_id=invocation.arguments.task,
        url=url,
        token=settings[TOKEN] or "",
        authentication=authentication_of(settings),
    )


CREATE: Final = Body(run=_create, declare=_declare_create)
GET: Final = agent_command(_get, declare=_declare_one)
LIST: Final = agent_command(_list, declare=declare_task)
DELETE: Final = agent_command(_delete, declare=_declare_one)


# --- listen ---------------------------------------------------------------------------------------

_REMOVAL_SECONDS: Final = 5
"""Who has pressed Ctrl-C does not wait longer for an agent that does not answer."""

_HOST: Final = Option[str](
    name="host",
    metavar="ADDRESS",
    default="127.0.0.1",
    is_configurable=False,
    help="address to listen on",
)
_PORT: Final = Option[int](
    name="port",
    metavar="N",
    read=values.port,
    default=0,
    shown="any that is free",
    is_configurable=False,
    help="port to listen on",
)
_PUBLIC_URL: Final = Option[str | None](
    name="public-url",
    metavar="URL",
    default=None,
    shown="the address it listens on",
    is_configurable=False,
    help="address at which the agent reaches this command, such as that of a tunnel",
)
_JWKS: Final = Option[str | None](
    name="jwks",
    metavar="FILE|URL",
    default=None,
    is_configurable=False,
    help="take only notifications that are signed with one of these keys",
)
_KEEP: Final = Option[bool](
    name="keep",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="go on listening when the task has ended",
)
_MAX_EVENTS: Final = Option[int](
    name="max-events",
    metavar="N",
    read=values.count,
    default=0,
    shown="no limit",
    is_configurable=False,
    help="stop after so many notifications",
)


def _declare(parser: Parser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK_ID",
        nargs="?",
        default=None,
        help="task to be told of: the webhook is registered there, and removed at the end",
    )
    parser.add_options(
        (_HOST, _PORT, _PUBLIC_URL, TOKEN, AUTH_SCHEME, AUTH_CREDENTIALS, _JWKS, _KEEP, _MAX_EVENTS)
    )


def _run(invocation: Invocation) -> int:
    # Notifications are a stream, with or without --stream: JSON has one object per line.
    invocation.output.is_compact = True
    # Told before the agent is looked for.
    authentication_of(invocation.settings)
    is_endless = invocation.arguments.task is None or invocation.settings[_KEEP]
    try:
        if invocation.arguments.task is None:
            return run_async(invocation, lambda: _listen_to_all(invocation), is_live=True)
        return with_agent(
            invocation, lambda session: _listen_to_task(invocation, session), is_live=True
        )
    except KeyboardInterrupt:
        # There is no other way to end it: that was no failure.
        if is_endless:
            return 0
        raise


async def _listen_to_all(invocation: Invocation) -> None:
    """Show whatever comes; who registers the webhook has to know its token."""
    token = invocation.settings[TOKEN] or _new_token()

    async def work(receiver: Receiver, url: str) -> None:
        invocation.output.note(f"Listening: {url}")
        if not invocation.settings.is_set(TOKEN):
            invocation.output.note(f"Token: {token}")
        await _show_all(invocation, receiver, is_endless=True)

    await _with_receiver(invocation, work, token=token)


async def _listen_to_task(invocation: Invocation, session: Session) -> None:
    """Register a webhook at a task, and show what comes until the task has ended."""
    settings, task_id = invocation.settings, invocation.arguments.task
    # R-13.2-18: a token of its own, for this webhook alone.
    token = settings[TOKEN] or _new_token()

    async def work(receiver: Receiver, url: str) -> None:
        config = TaskPushNotificationConfig(
            # Ours, so that the webhook can be removed even if the answer is lost.
            id=SystemClock().new_id(),
            task_id=task_id,
            url=url,
            token=token,
            authentication=authentication_of(settings),
        )
        async with _registered(invocation, session, config):
            invocation.output.note(f"Listening: {url}")
            document = await session.follower.look(GetTaskRequest(id=task_id))
            is_late = document.task().status.state.is_terminal and not settings[_KEEP]
            if is_late:
                # Nothing comes any more. What has come meanwhile is still shown.
                receiver.close()
            has_seen_end = await _show_all(invocation, receiver, is_endless=settings[_KEEP])
            if is_late and not has_seen_end:
                show_event(invocation, EventDocument(0, b'{"task":%b}' % document.json()))
            show_end(invocation)

    await _with_receiver(invocation, work, token=token, tasks={task_id})


async def _with_receiver(
    invocation: Invocation,
    work: Callable[[Receiver, str], Awaitable[None]],
    *,
    token: str,
    tasks: set[str] | None = None,
) -> None:
    """Serve a receiver while some work is done with it and its address."""
    settings = invocation.settings
    with listen(settings[_HOST], settings[_PORT]) as listener:
        url = settings[_PUBLIC_URL] or f"http://{address_of(listener)}/"
        jwks = settings[_JWKS]
        is_remote = jwks is not None and "://" in jwks
        receiver = Receiver(
            token=token,
            authentication=authentication_of(settings),
            jwks=jwks if jwks is not None and is_remote else "",
            keys=None if jwks is None or is_remote else _path(invocation, jwks),
            url=url,
            tasks=tasks,
        )
        async with served(receiver, listener):
            await work(receiver, url)


async def _show_all(invocation: Invocation, receiver: Receiver, *, is_endless: bool) -> bool:
    """Show notifications; tell whether one said that the task has ended."""
    most = invocation.settings[_MAX_EVENTS]
    shown, has_seen_end = 0, False
    async for notification in receiver:
        invocation.progress.see(notification.event)
        show_event(invocation, EventDocument(0, msgspec.json.encode(notification.event)))
        shown += 1
        has_seen_end = notification.state is not None and notification.state.is_terminal
        if shown == most or (has_seen_end and not is_endless):
            break
    return has_seen_end


@asynccontextmanager
async def _registered(
    invocation: Invocation, session: Session, config: TaskPushNotificationConfig
) -> AsyncGenerator[None]:
    """Register a webhook, and remove it at the end, however that comes."""
    made = config
    try:
        service = session.service
        made = await service.create_task_push_notification_config(config, session.call)
    except asyncio.CancelledError:
        await _remove(invocation, session, config)
        raise
    try:
        yield
    finally:
        await _remove(invocation, session, made)


async def _remove(
    invocation: Invocation, session: Session, config: TaskPushNotificationConfig
) -> None:
    task_id = invocation.arguments.task
    request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config.id or task_id)
    try:
        async with asyncio.timeout(_REMOVAL_SECONDS):
            await session.service.delete_task_push_notification_config(request, session.call)
    except TaskNotFoundError:
        pass  # Some agents drop webhooks with the end of their task.
    except (DragomanError, TimeoutError) as problem:
        invocation.output.warn(f"the webhook {request.id} was not removed: {problem}")


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _path(invocation: Invocation, file: str) -> Path:
    return invocation.surroundings.folder / Path(file).expanduser()


LISTEN: Final = Body(run=_run, declare=_declare)
