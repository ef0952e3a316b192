"""Asking over JSON-RPC, in 1.0 or in an older form."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final

import msgspec

from dragoman.conformance.answers import ERRORS, Answer, Refusal, at, items, objects, text_at
from dragoman.conformance.forms import Form
from dragoman.conformance.http_answers import EVENT_STREAM, json_of, read_all, read_events
from dragoman.conformance.interface import Params
from dragoman.conformance.lines import HttpLine, HttpReply, HttpRequest

__all__ = ("JsonRpcInterface",)

_JSON: Final = "application/json"
_ID: Final = "conformance-1"
_OK: Final = 200
# The first name counts where errors that A2A has not named share a code.
_NAMES: Final = {form.jsonrpc: name for name, form in reversed(tuple(ERRORS.items()))}


class JsonRpcInterface:
    """One interface over JSON-RPC.

    Args:
        form: what the version has for method names and objects.
        tenant: told back in every request; "" for none.
    """

    binding = "JSONRPC"

    def __init__(
        self, line: HttpLine, url: str, *, version: str, form: Form, tenant: str = ""
    ) -> None:
        self.version = version
        self._line = line
        self._url = url
        self._form = form
        self._tenant = tenant

    async def call(self, operation: str, params: Params, *, version: str | None = None) -> Answer:
        """Perform an operation that has one answer."""
        body = self._envelope(self._form.method(operation), self._written(operation, params))
        answer = await self._post(body, version=version)
        return self._read_result(operation, answer)

    async def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        body = self._envelope(self._form.method(operation), self._written(operation, params))
        async with self._line.exchange(self._request(body, accept=EVENT_STREAM)) as reply:
            if reply.media_type != EVENT_STREAM:
                answer = await self._read_whole(reply)
                if answer.refusal is None and not answer.faults:
                    # R-9.1-4
                    fault = f"a stream must be {EVENT_STREAM}, but is {reply.media_type or 'bare'}"
                    answer = msgspec.structs.replace(answer, faults=(fault,))
                yield self._read_result(operation, answer)
                return
            async with aclosing(read_events(reply.chunks)) as events:
                async for data in events:
                    yield self._read_result(operation, self._read(*json_of(data), ""))

    async def call_unknown(self) -> Answer:
        """Ask for an operation that does not exist."""
        return await self._post(self._envelope("NoSuchMethod", {}))

    async def send_garbage(self) -> Answer:
        """Send a body that is no JSON."""
        return await self._post(b'{"jsonrpc": "2.0", "method": ')

    def _written(self, operation: str, params: Params) -> Params:
        told = {"tenant": self._tenant} if self._tenant else {}
        return self._form.write(operation, {**told, **params})

    def _envelope(self, method: str, params: Params) -> bytes:
        envelope = {"jsonrpc": "2.0", "id": _ID, "method": method, "params": params}
        return msgspec.json.encode(envelope)

    def _request(self, body: bytes, *, accept: str, version: str | None = None) -> HttpRequest:
        headers = {
            "Content-Type": _JSON,
            "Accept": accept,
            "A2A-Version": version or self.version,
        }
        return HttpRequest(verb="POST", url=self._url, headers=headers, body=body)

    async def _post(self, body: bytes, *, version: str | None = None) -> Answer:
        request = self._request(body, accept=_JSON, version=version)
        async with self._line.exchange(request) as reply:
            return await self._read_whole(reply)

    async def _read_whole(self, reply: HttpReply) -> Answer:
        value, faults = json_of(await read_all(reply))
        # R-9.1-2
        if reply.media_type != _JSON:
            faults = (f"the content type must be {_JSON}, but is {reply.media_type!r}", *faults)
        if value is None and reply.status != _OK:
            faults = (f"HTTP status {reply.status}", *faults)
        return self._read(value, faults, reply.media_type)

    def _read_result(self, operation: str, answer: Answer) -> Answer:
        if answer.refusal is not None or answer.result is None:
            return answer
        return msgspec.structs.replace(answer, result=self._form.read(operation, answer.result))

    def _read(self, value: object, faults: tuple[str, ...], media_type: str) -> Answer:
        """Read a JSON-RPC response."""
        if value is None and faults:
            return Answer(faults=faults, media_type=media_type)
        faults = (*faults, *_envelope_faults(value))
        error = at(value, "error")
        refusal = None
        if error is not None:
            code = at(error, "code")
            number = code if isinstance(code, int) else 0
            name = _NAMES.get(number, "")
            refusal = Refusal(name=name, code=number, message=text_at(error, "message"))
            faults = (*faults, *_error_faults(error, has_details=self._form.has_details))
        result = at(value, "result")
        return Answer(result=result, refusal=refusal, faults=faults, media_type=media_type)


def _envelope_faults(value: object) -> Iterator[str]:
    # R-9.1-1: JSON-RPC 2.0.
    if at(value, "jsonrpc") != "2.0":
        yield 'the response has no "jsonrpc": "2.0"'
    if (at(value, "result") is None) == (at(value, "error") is None):
        yield "the response must have either a result or an error"
    elif at(value, "result") is not None and at(value, "id") != _ID:
        yield f"the id of the response is {at(value, 'id')!r}, not that of the request"


def _error_faults(error: object, *, has_details: bool) -> Iterator[str]:
    # R-9.5-1
    if not isinstance(at(error, "code"), int) or not text_at(error, "message"):
        yield "an error must have a code (a number) and a message (a text)"
    data = at(error, "data")
    if data is None or not has_details:
        return
    # R-9.5-2, R-9.5-5
    listed = items(data)
    if listed is None or len(objects(data)) != len(listed):
        yield "error.data must be an array of objects"
    elif not all(text_at(item, "@type") for item in objects(data)):
        yield "every object of error.data must have an @type"
