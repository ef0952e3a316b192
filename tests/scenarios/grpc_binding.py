"""A raw client of gRPC: JSON goes in and comes out, messages travel.

Nothing here shares code or tables with the server. The messages of A2A are learned from the server
itself, by reflection; those of reflection, of health and of errors are written down a second time.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, Self, cast

from google.protobuf import any_pb2, duration_pb2, json_format, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from tests.support.wire import Json

__all__ = (
    "V0_3_SERVICE",
    "V1_0_SERVICE",
    "Answer",
    "Metadata",
    "Rpcs",
    "StatusError",
    "Stream",
    "aio",
    "code_of",
    "described_methods",
    "grpc",
    "health_of",
    "listed_services",
)

# The library has no types.
grpc: Any = importlib.import_module("grpc")
aio: Any = importlib.import_module("grpc.aio")

V1_0_SERVICE: Final = "lf.a2a.v1.A2AService"
V0_3_SERVICE: Final = "a2a.v1.A2AService"

PATIENCE_SECONDS: Final = 15
"""How long a call may take unless a test says otherwise."""

# 0.x reference, 3.9: the rpcs of 0.2.2 to 0.2.4, whose messages have the numbers of 0.3.
_LONG_NAMES: Final = {
    "CreateTaskPushNotification": "CreateTaskPushNotificationConfig",
    "GetTaskPushNotification": "GetTaskPushNotificationConfig",
    "ListTaskPushNotification": "ListTaskPushNotificationConfig",
    "DeleteTaskPushNotification": "DeleteTaskPushNotificationConfig",
}

Metadata = Iterable[tuple[str, str | bytes]]
"""What is sent beside a message."""


def code_of(name: str) -> int:
    """Return the number of a status."""
    return grpc.StatusCode[name].value[0]


# --- messages that are known beforehand ---------------------------------------------------------

_Field = FieldDescriptorProto
_SCALARS: Final = {
    "string": _Field.TYPE_STRING,
    "int32": _Field.TYPE_INT32,
    "bytes": _Field.TYPE_BYTES,
}


def _described(package: str, messages: Mapping[str, str]) -> DescriptorPool:
    """Make messages of fields such as ``3 *bytes name``: number, kind (a star for many), name.

    What is called Entry is the entry of a map, and belongs to the message before it.
    """
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    pool = DescriptorPool()
    for imported in (any_pb2.DESCRIPTOR, duration_pb2.DESCRIPTOR):
        pool.AddSerializedFile(imported.serialized_pb)
        file.dependency.append(imported.name)
    for name, fields in messages.items():
        is_entry = name.endswith("Entry")
        home = file.message_type[-1].nested_type if is_entry else file.message_type
        message = home.add(name=name)
        message.options.map_entry = is_entry
        for field in fields.split(", "):
            number, kind, member = field.split()
            label = _Field.LABEL_REPEATED if kind.startswith("*") else _Field.LABEL_OPTIONAL
            made = message.field.add(name=member, number=int(number), label=label)
            made.type = _SCALARS.get(kind.removeprefix("*"), _Field.TYPE_MESSAGE)
            if made.type == _Field.TYPE_MESSAGE:
                made.type_name = f".{kind.removeprefix('*')}"
    pool.Add(file)
    return pool


_ERRORS: Final = _described(
    "google.rpc",
    {
        "Status": "1 int32 code, 2 string message, 3 *google.protobuf.Any details",
        "ErrorInfo": "1 string reason, 2 string domain, "
        "3 *google.rpc.ErrorInfo.MetadataEntry metadata",
        "MetadataEntry": "1 string key, 2 string value",
        "BadRequest": "1 *google.rpc.FieldViolation field_violations",
        "FieldViolation": "1 string field, 2 string description",
        "RetryInfo": "1 google.protobuf.Duration retry_delay",
    },
)
_STANDARD: Final = _described(
    "standard",
    {
        "HealthRequest": "1 string service",
        "HealthResponse": "1 int32 status",
        "Question": "4 string symbol, 7 string services",
        "Answer": "4 standard.Files files, 6 standard.Services services",
        "Files": "1 *bytes file",
        "Services": "1 *standard.Service service",
        "Service": "1 string name",
    },
)


def _class_of(pool: DescriptorPool, name: str) -> Any:
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


# --- JSON ---------------------------------------------------------------------------------------

# What 1.0 calls REQUIRED, and protobuf leaves out at its zero value.
_ZEROS: Final[Mapping[str, Json]] = {
    "lf.a2a.v1.ListTasksResponse": {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 0,
        "totalSize": 0,
    },
}


def _as_json(message: Any) -> Json:
    plain = cast("Json", _with_milliseconds(json_format.MessageToDict(message)))
    return {**_ZEROS.get(message.DESCRIPTOR.full_name, {}), **plain}


def _with_milliseconds(value: object) -> object:
    """Write the times of A2A as its JSON does; protobuf's library drops a fraction of zero."""
    if isinstance(value, list):
        return [_with_milliseconds(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    plain = {name: _with_milliseconds(item) for name, item in cast("Json", value).items()}
    match plain:
        case {"state": _, "timestamp": str(time)} if "." not in time:
            return {**plain, "timestamp": f"{time[:-1]}.000Z"}
        case _:
            return plain


# --- answers ------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """What a unary rpc has answered, and its initial metadata."""

    value: Json
    headers: dict[str, str]


class Stream:
    """The frames of a streaming rpc, and its initial metadata."""

    def __init__(self, call: Any, first: Any, headers: dict[str, str]) -> None:
        self.headers = headers
        self._call = call
        self._next = first

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Json:
        message = self._next
        if message is None:
            message = await self._call.read()
        self._next = None
        if message is aio.EOF:
            raise StopAsyncIteration
        return _as_json(message)


class StatusError(Exception):
    """A call ended with another status than OK.

    Attributes:
        status: the google.rpc.Status as JSON; without details where the trailer had none.
    """

    def __init__(self, error: Any) -> None:
        """Take what the library raises."""
        self.name: str = error.code().name
        self.message: str = error.details()
        self.status: Json = {"code": code_of(self.name), "message": self.message, "details": []}
        if trailer := dict(error.trailing_metadata()).get("grpc-status-details-bin"):
            status = _class_of(_ERRORS, "google.rpc.Status").FromString(trailer)
            told = json_format.MessageToDict(status, descriptor_pool=_ERRORS)
            # Reference, 5: a client does not believe a trailer that says something else.
            self.status["details"] = told.get("details")
            assert told == self.status
        super().__init__(f"{self.name}: {self.message}")


# --- calls --------------------------------------------------------------------------------------


class Rpcs:
    """A client of one service at one address. What does not end well raises StatusError.

    Args:
        authority: the certificate that the server's is signed with, if it has one.
        identity: the private key and the certificate of the client, to show to the server.
    """

    def __init__(
        self,
        url: str,
        service: str = V1_0_SERVICE,
        *,
        authority: bytes = b"",
        identity: tuple[bytes, bytes] | None = None,
    ) -> None:
        self.service = service
        target = url.rpartition("/")[2]
        # A connection of its own: the library would share one between all clients of an address.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        if authority:
            credentials = grpc.ssl_channel_credentials(authority, *(identity or ()))
            self.channel = aio.secure_channel(target, credentials, options=options)
        else:
            self.channel = aio.insecure_channel(target, options=options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.channel.close()

    async def unary(
        self,
        rpc: str,
        params: Json,
        metadata: Metadata = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Answer:
        """Call a method; ``params`` that are no such message raise json_format.ParseError."""
        call = await self._call(self.channel.unary_unary, rpc, params, metadata, patience_seconds)
        try:
            return Answer(_as_json(await call), dict(await call.initial_metadata()))
        except aio.AioRpcError as error:
            raise StatusError(error) from None

    async def raw(self, rpc: str, data: bytes, metadata: Metadata = ()) -> bytes:
        """Call a unary method with bytes, whatever they are."""
        method = self.channel.unary_unary(f"/{self.service}/{rpc}")
        try:
            return await method(data, metadata=tuple(metadata), timeout=PATIENCE_SECONDS)
        except aio.AioRpcError as error:
            raise StatusError(error) from None

    @asynccontextmanager
    async def stream(
        self,
        rpc: str,
        params: Json,
        metadata: Metadata = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> AsyncGenerator[Stream]:
        """Call a streaming method and wait for its first frame; the call ends with the block."""
        call = await self._call(self.channel.unary_stream, rpc, params, metadata, patience_seconds)
        try:
            first = await call.read()
            yield Stream(call, first, dict(await call.initial_metadata()))
        except aio.AioRpcError as error:
            raise StatusError(error) from None
        finally:
            call.cancel()

    async def _call(
        self, kind: Any, rpc: str, params: Json, metadata: Metadata, patience_seconds: float
    ) -> Any:
        request, answer = await self.messages(rpc)
        method = kind(f"/{self.service}/{rpc}", request.SerializeToString, answer.FromString)
        message = json_format.ParseDict(params, request())
        return method(message, metadata=tuple(metadata), timeout=patience_seconds)

    async def messages(self, rpc: str) -> tuple[Any, Any]:
        """Return the classes of a method's request and answer."""
        if self.service not in _LEARNED:
            _LEARNED[self.service] = _pool_of(await _described_files(self.channel, self.service))
        service: Any = _LEARNED[self.service].FindServiceByName(self.service)
        method = service.methods_by_name[_LONG_NAMES.get(rpc, rpc)]
        return (
            message_factory.GetMessageClass(method.input_type),
            message_factory.GetMessageClass(method.output_type),
        )


# By service. The servers of a run all describe it alike, so the first is asked.
_LEARNED: Final[dict[str, DescriptorPool]] = {}


def _pool_of(files: Iterable[FileDescriptorProto]) -> DescriptorPool:
    pool = DescriptorPool()
    known = {file.name: file for file in files}

    def add(name: str) -> None:
        if file := known.pop(name, None):
            for needed in file.dependency:
                add(needed)
            pool.Add(file)

    for name in tuple(known):
        add(name)
    return pool


# --- gRPC's own services ------------------------------------------------------------------------


async def listed_services(channel: Any, *, version: str = "v1") -> list[str]:
    """Ask a server by reflection which services it has."""
    answer = await _reflect(channel, version, services="*")
    return [service.name for service in answer.services.service]


async def _described_files(channel: Any, symbol: str) -> list[FileDescriptorProto]:
    """Ask a server by reflection for the file that defines a symbol, and what it imports."""
    answer = await _reflect(channel, "v1", symbol=symbol)
    return [FileDescriptorProto.FromString(data) for data in answer.files.file]


async def described_methods(channel: Any, service: str) -> dict[str, tuple[str, str]]:
    """Ask a server by reflection for request and answer of every method of a service."""
    files = await _described_files(channel, service)
    (found,) = (found for file in files for found in file.service)
    assert not any(rpc.client_streaming for rpc in found.method)
    return {
        rpc.name: (
            rpc.input_type.rpartition(".")[2],
            ("stream " if rpc.server_streaming else "") + rpc.output_type.rpartition(".")[2],
        )
        for rpc in found.method
    }


async def _reflect(channel: Any, version: str, **question: str) -> Any:
    path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    ask, tell = (_class_of(_STANDARD, f"standard.{name}") for name in ("Question", "Answer"))
    method = channel.stream_stream(path, ask.SerializeToString, tell.FromString)
    call = method(iter([ask(**question)]), timeout=PATIENCE_SECONDS)
    (answer,) = [answer async for answer in call]
    return answer


async def health_of(channel: Any, service: str = "") -> int:
    """Ask a server how it is: 1 if it serves."""
    ask, tell = (_class_of(_STANDARD, f"standard.Health{name}") for name in ("Request", "Response"))
    method = channel.unary_unary(
        "/grpc.health.v1.Health/Check", ask.SerializeToString, tell.FromString
    )
    try:
        return (await method(ask(service=service), timeout=PATIENCE_SECONDS)).status
    except aio.AioRpcError as error:
        raise StatusError(error) from None
