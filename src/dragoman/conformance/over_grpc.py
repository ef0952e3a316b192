"""Asking over gRPC of 1.0. The library that moves the bytes is not needed here."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from dragoman._proto.messages import message_class, pool
from dragoman.conformance.answers import Answer
from dragoman.conformance.error_info import ErrorInfo, refusal_of
from dragoman.conformance.interface import Params
from dragoman.conformance.lines import GrpcLine, NoAnswerError, RpcStatusError

__all__ = ("GrpcInterface",)

_SERVICE: Final = "lf.a2a.v1.A2AService"
# 1.0 reference, 2.3: what JSON holds even at its zero value, which protobuf leaves out.
_LIST: Final[dict[str, object]] = {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0}


class GrpcInterface:
    """One interface over gRPC."""

    binding = "GRPC"

    def __init__(self, line: GrpcLine, *, version: str, tenant: str = "") -> None:
        self.version = version
        self._line = line
        self._tenant = tenant

    async def call(self, operation: str, params: Params, *, version: str | None = None) -> Answer:
        """Perform an operation that has one answer."""
        answers = [answer async for answer in self._ask(operation, params, version)]
        if len(answers) != 1:
            raise NoAnswerError(f"the call has ended with {len(answers)} messages instead of one")
        return answers[0]

    async def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        async with aclosing(self._ask(operation, params, None)) as answers:
            async for answer in answers:
                yield answer

    async def call_unknown(self) -> Answer:
        """Ask for a method that does not exist."""
        return await self._send("NoSuchMethod", b"")

    async def send_garbage(self) -> Answer:
        """Send bytes that are no message: a member that says it is longer than they are."""
        return await self._send("SendMessage", b"\x12\xff\x01")

    async def _ask(
        self, operation: str, params: Params, version: str | None
    ) -> AsyncGenerator[Answer]:
        method = pool().FindServiceByName(_SERVICE).FindMethodByName(operation)
        told = {"tenant": self._tenant} if self._tenant else {}
        request = message_class(method.input_type.full_name)()
        json_format.ParseDict({**told, **params}, request)
        metadata = {"a2a-version": version or self.version}
        try:
            async with aclosing(
                self._line.call(_path(operation), request.SerializeToString(), metadata)
            ) as messages:
                async for data in messages:
                    yield _read(data, method.output_type.full_name)
        except RpcStatusError as problem:
            yield _refused(problem)

    async def _send(self, method: str, data: bytes) -> Answer:
        try:
            async with aclosing(
                self._line.call(_path(method), data, {"a2a-version": self.version})
            ) as messages:
                async for _ in messages:
                    pass
        except RpcStatusError as problem:
            return _refused(problem)
        return Answer(result={})


def _path(method: str) -> str:
    return f"/{_SERVICE}/{method}"


def _read(data: bytes, name: str) -> Answer:
    message = message_class(name)()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return Answer(faults=(f"the bytes are no {name}",))
    return Answer(result=_plain(message))


def _plain(message: Message) -> object:
    found = json_format.MessageToDict(message, descriptor_pool=pool())
    return {**_LIST, **found} if message.DESCRIPTOR.name == "ListTasksResponse" else found


def _refused(problem: RpcStatusError) -> Answer:
    """Read how a call has failed (R-10.6-1): the details are in a trailer."""
    return Answer(
        refusal=refusal_of(_info_in(problem.trailer), problem.code, problem.details, "grpc")
    )


def _info_in(trailer: bytes | None) -> ErrorInfo | None:
    if trailer is None:
        return None
    kind = message_class("google.rpc.ErrorInfo")
    # The classes are made at run time: nobody knows their members before.
    status: Any = message_class("google.rpc.Status")()
    info: Any = kind()
    try:
        status.ParseFromString(trailer)
        for detail in status.details:
            if detail.type_url.rpartition("/")[2] == kind.DESCRIPTOR.full_name:
                info.ParseFromString(detail.value)
                return ErrorInfo(info.reason, info.domain)
    except DecodeError:
        pass
    return None
