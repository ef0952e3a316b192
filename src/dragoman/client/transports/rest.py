"""HTTP+JSON, the client's side: paths, queries and bodies made of what a dialect writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

import msgspec

from dragoman.client.transports.base import HttpRequest, error_of_status, reading
from dragoman.dialects.fields import read_json
from dragoman.dialects.negotiation import V1_0, Version
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    JSONParseError,
    MethodNotFoundError,
    TaskNotFoundError,
)
from dragoman.model.operations import Operation, SendMessageRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.bindings.sse import SseEvent
    from dragoman.dialects.base import Received, RestDialect
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("RestFraming",)

_VARIABLE: Final = re.compile(r"\{(\w+)\}")
_ATTRIBUTES: Final = {"id": "id", "taskId": "task_id"}
"""Where a request holds the variables of the routes."""

# What the forms call the ids that are in the path; a query must not repeat them.
_IDS: Final = frozenset({"id", "taskId", "pushNotificationConfigId", "tenant"})

Routes = dict[Operation, tuple[tuple[str, str], ...]]


class RestFraming:
    """HTTP+JSON below one URL, in one dialect."""

    def __init__(
        self,
        dialect: RestDialect,
        url: str,
        version: Version,
        routes: Mapping[str, Mapping[str, Operation]],
    ) -> None:
        """Take the routes as the server has them: operations by verb by template."""
        self._dialect = dialect
        self._url = url
        self._version = version
        self._routes = _by_operation(routes)
        self._content_type = "application/a2a+json" if version >= V1_0 else "application/json"

    @property
    def version(self) -> Version:
        """Return the version that is spoken."""
        return self._version

    def requests(self, operation: Operation, request: Request) -> tuple[HttpRequest, ...]:
        """Write a request; following a task has two verbs, of which peers know one or both."""
        encoded = self._dialect.encode_request(operation, request)
        members = msgspec.json.decode(encoded, type=dict[str, object])
        return tuple(
            self._write(verb, template, request, members)
            for verb, template in self._routes[operation]
        )

    def _write(
        self, verb: str, template: str, request: Request, members: JsonObject
    ) -> HttpRequest:
        # an id is one segment, whatever is in it.
        path = _VARIABLE.sub(
            lambda found: quote(getattr(request, _ATTRIBUTES[found[1]]), safe=""), template
        )
        if request.tenant:
            path = f"/{quote(request.tenant, safe='')}{path}"
        url = self._url + path
        names_task = "{" in template or _continues(request)
        if verb == "POST":
            named = set(_VARIABLE.findall(template))
            body = {name: value for name, value in members.items() if name not in named}
            return HttpRequest(
                verb,
                url,
                self._content_type,
                msgspec.json.encode(body),
                names_task=names_task,
            )
        # R-11.5-1: never a body.
        query = {name: _text(value) for name, value in members.items() if name not in _IDS}
        if query:
            url = f"{url}?{urlencode(query, quote_via=quote)}"
        return HttpRequest(verb, url, names_task=names_task)

    def read_answer(
        self, sent: HttpRequest, operation: Operation, status: int, body: bytes
    ) -> Received:
        """Read the answer of a unary operation; any 2xx is a success (0.x reference, 4.5)."""
        self._check(sent, status, body)
        with reading(self._url):
            return self._dialect.decode_result(operation, body or b"{}")

    def read_event(self, event: SseEvent) -> StreamResponse:
        """Read one event of a stream; an error is known by its name, or by being no event."""
        if event.event == "error":
            raise self._told(event.data)
        try:
            return self._dialect.decode_event(event.data)
        except (JSONParseError, InvalidParamsError):
            if _is_error(event.data):
                raise self._told(event.data) from None
            with reading(self._url):
                raise

    def read_lone_event(self, sent: HttpRequest, status: int, body: bytes) -> StreamResponse:
        """Read what came in place of a stream: an error, or all there is to tell."""
        self._check(sent, status, body)
        with reading(self._url):
            return self._dialect.decode_event(body)

    def _told(self, data: bytes) -> A2AError:
        return self._dialect.decode_http_error(500, data)

    def _check(self, sent: HttpRequest, status: int, body: bytes) -> None:
        """Raise what a status tells."""
        if 200 <= status < 300:
            return
        if status < 400 or not _is_object(body):
            raise error_of_status(status, body, self._url)
        problem = self._dialect.decode_http_error(status, body)
        if isinstance(problem, TaskNotFoundError) and not sent.names_task:
            # The readers of 0.3 take a bare 404 for a task that is not there.
            raise MethodNotFoundError(problem.message)
        raise problem


def _by_operation(routes: Mapping[str, Mapping[str, Operation]]) -> Routes:
    """Turn the routes around: of several templates for one verb the first is the usual one."""
    found: dict[Operation, dict[str, str]] = {}
    for template, operations in routes.items():
        for verb, operation in operations.items():
            found.setdefault(operation, {}).setdefault(verb, template)
    # POST before GET.
    return {
        operation: tuple(sorted(verbs.items(), reverse=True)) for operation, verbs in found.items()
    }


def _continues(request: Request) -> bool:
    return isinstance(request, SendMessageRequest) and bool(request.message.task_id)


def _text(value: object) -> str:
    """Write a value for a query (R-11.5-3)."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(read_json(body), dict)
    except (JSONParseError, InvalidParamsError):
        return False


def _is_error(data: bytes) -> bool:
    try:
        found = read_json(data)
    except (JSONParseError, InvalidParamsError):
        return False
    return isinstance(found, dict) and ("error" in found or {"code", "message"} <= found.keys())
