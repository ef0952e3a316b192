"""Telling what goes over gRPC: its messages are bytes, so they are told as the JSON they mean."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, Protocol, cast

import msgspec

from dragoman.auth.shared.redaction import redacted_json
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.service import RemoteService
from dragoman.errors import A2AError, spelling_of
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.service.service import A2AService, Call, EventStream

__all__ = ("tapped",)


def tapped(remote: RemoteService, log: WireLog) -> A2AService:
    """Return a service that does the same and tells what is asked and answered over gRPC."""
    return cast("A2AService", _Tapped(remote, log))


class _Operation(Protocol):
    def __call__(self, request: object, call: Call) -> Coroutine[Any, Any, object]: ...


class _Tapped:
    """All operations have one form, so one method stands for all of them."""

    def __init__(self, remote: RemoteService, log: WireLog) -> None:
        self._remote = remote
        self._log = log

    def __getattr__(self, name: str) -> Callable[[object, Call], Coroutine[Any, Any, object]]:
        operation: _Operation = getattr(self._remote, name)

        async def told(request: object, call: Call) -> object:
            # Other bindings are told where their bytes are.
            if self._remote.interface.protocol_binding != "GRPC":
                return await operation(request, call)
            self._tell(">", f"{name} {self._remote.interface.url}", msgspec.json.encode(request))
            try:
                answer = await operation(request, call)
            except A2AError as refusal:
                self._log.tell("<", f"{spelling_of(refusal).grpc} {refusal}")
                raise
            if isinstance(answer, msgspec.Struct):
                self._tell("<", "OK", _json_of(answer))
                return answer
            return _ToldStream(cast("EventStream", answer), self._log)

        return told

    def _tell(self, mark: str, head: str, message: bytes) -> None:
        self._log.tell(mark, head, redacted_json(message.decode()))


class _ToldStream:
    """A stream whose events are told as they come."""

    def __init__(self, inner: EventStream, log: WireLog) -> None:
        self._inner = inner
        self._log = log

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        return self._batches()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _batches(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        async for batch in self._inner:
            self._log.tell("<", *(redacted_json(event.json.decode()) for event in batch))
            yield batch


def _json_of(answer: object) -> bytes:
    if isinstance(answer, TaskDocument):
        return answer.json()
    if isinstance(answer, TaskPage):
        return b"[%b]" % b",".join(document.json() for document in answer.tasks)
    return msgspec.json.encode(answer)
