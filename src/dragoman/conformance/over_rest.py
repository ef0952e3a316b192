"""Asking over HTTP+JSON of 1.0."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from dragoman.conformance.answers import Answer, at, text_at
from dragoman.conformance.error_info import error_info_in, refusal_of
from dragoman.conformance.http_answers import EVENT_STREAM, json_of, read_all, read_events
from dragoman.conformance.interface import Params
from dragoman.conformance.lines import HttpLine, HttpReply, HttpRequest

__all__ = ("RestInterface",)

_A2A: Final = "application/a2a+json"
_JSON: Final = frozenset({_A2A, "application/json"})
_ERROR: Final = 400
_NO_ROUTE: Final = frozenset({404, 405})
_CONFIGS: Final = "/tasks/{taskId}/pushNotificationConfigs"

# R-11.3-1 (1.0 reference, 4.1). Members of the request that a route names go there.
_ROUTES: Final = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", _CONFIGS),
    "GetTaskPushNotificationConfig": ("GET", f"{_CONFIGS}/{{id}}"),
    "ListTaskPushNotificationConfigs": ("GET", _CONFIGS),
    "DeleteTaskPushNotificationConfig": ("DELETE", f"{_CONFIGS}/{{id}}"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}


class RestInterface:
    """One interface over HTTP+JSON; the routes begin at its URL, a tenant is their first part."""

    binding = "HTTP+JSON"

    def __init__(self, line: HttpLine, url: str, *, version: str, tenant: str = "") -> None:
        self.version = version
        self._line = line
        self._base = url.rstrip("/") + (f"/{quote(tenant, safe='')}" if tenant else "")

    async def call(self, operation: str, params: Params, *, version: str | None = None) -> Answer:
        """Perform an operation that has one answer."""
        request = self._request(operation, params, accept=_A2A, version=version)
        async with self._line.exchange(request) as reply:
            return await _read_whole(reply)

    async def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        request = self._request(operation, params, accept=EVENT_STREAM)
        async with aclosing(self._follow(request)) as answers:
            async for answer in answers:
                if operation == "SubscribeToTask" and _is_no_route(answer):
                    # the prose says POST, the proto GET, and who has one of them is right.
                    request = msgspec.structs.replace(request, verb="GET", body=b"")
                    break
                yield answer
            else:
                return
        async with aclosing(self._follow(request)) as answers:
            async for answer in answers:
                yield answer

    async def call_unknown(self) -> Answer:
        """Ask for a route that does not exist."""
        request = self._sent("GET", "/no/such/route", b"", accept=_A2A)
        async with self._line.exchange(request) as reply:
            return await _read_whole(reply)

    async def send_garbage(self) -> Answer:
        """Send a body that is no JSON."""
        request = self._sent("POST", "/message:send", b'{"message": ', accept=_A2A)
        async with self._line.exchange(request) as reply:
            return await _read_whole(reply)

    async def _follow(self, request: HttpRequest) -> AsyncGenerator[Answer]:
        async with self._line.exchange(request) as reply:
            if reply.media_type != EVENT_STREAM:
                answer = await _read_whole(reply)
                if answer.refusal is None and not answer.faults:
                    # R-11.1-2
                    fault = f"a stream must be {EVENT_STREAM}, but is {reply.media_type or 'bare'}"
                    answer = msgspec.structs.replace(answer, faults=(fault,))
                yield answer
                return
            async with aclosing(read_events(reply.chunks)) as events:
                async for data in events:
                    yield _read_event(data)

    def _request(
        self, operation: str, params: Params, *, accept: str, version: str | None = None
    ) -> HttpRequest:
        verb, template = _ROUTES[operation]
        named = {name for name in params if f"{{{name}}}" in template}
        path = template.format(**{name: quote(str(params[name]), safe="") for name in named})
        others = {name: value for name, value in params.items() if name not in named}
        if verb == "POST":
            body = msgspec.json.encode(others)
        else:
            body = b""
            query = {name: _in_query(value) for name, value in others.items()}
            path += f"?{urlencode(query)}" if query else ""
        return self._sent(verb, path, body, accept=accept, version=version)

    def _sent(
        self, verb: str, path: str, body: bytes, *, accept: str, version: str | None = None
    ) -> HttpRequest:
        headers = {"Accept": accept, "A2A-Version": version or self.version}
        if body:
            headers["Content-Type"] = _A2A
        return HttpRequest(verb=verb, url=self._base + path, headers=headers, body=body)


def _is_no_route(answer: Answer) -> bool:
    refusal = answer.refusal
    return refusal is not None and not refusal.name and refusal.code in _NO_ROUTE


def _in_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _read_whole(reply: HttpReply) -> Answer:
    body = await read_all(reply)
    # Delete may answer with nothing at all.
    value, faults = json_of(body or b"{}")
    if body and reply.media_type not in _JSON:
        faults = (f"the content type must be {_A2A}, but is {reply.media_type!r}", *faults)
    if reply.status < _ERROR:
        return Answer(result=value, faults=faults, media_type=reply.media_type)
    if value is None:
        faults = (f"HTTP status {reply.status}", *faults)
    found = error_info_in(at(value, "error", "details"))
    refusal = refusal_of(found, reply.status, text_at(value, "error", "message"), "http")
    if value is not None:
        faults = (*faults, *_error_faults(value, reply.status))
    return Answer(refusal=refusal, faults=faults, media_type=reply.media_type)


def _error_faults(value: object, status: int) -> Iterator[str]:
    # R-11.6-1, R-11.6-2
    if at(value, "error", "code") != status or not text_at(value, "error", "message"):
        yield f'the body of HTTP status {status} must have an "error" with that code and a message'
    if not text_at(value, "error", "status"):
        yield "error.status is missing"


def _read_event(data: bytes) -> Answer:
    value, faults = json_of(data)
    # R-11.7-1: an event is a StreamResponse; an error comes as an error has elsewhere.
    if at(value, "error") is not None:
        found = error_info_in(at(value, "error", "details"))
        code = at(value, "error", "code")
        number = code if isinstance(code, int) else 0
        refusal = refusal_of(found, number, text_at(value, "error", "message"), "http")
        return Answer(refusal=refusal, faults=faults)
    return Answer(result=value, faults=faults)
