"""dragoman task push-config create, get, list and delete: the webhooks of a task."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.task import declare_task
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.session import Session, agent_command, with_agent
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import push_lines
from dragoman.errors import UsageError
from dragoman.model.operations import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
)
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

__all__ = (
    "AUTH_CREDENTIALS",
    "AUTH_SCHEME",
    "CREATE",
    "DELETE",
    "GET",
    "LIST",
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
