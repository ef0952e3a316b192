"""The services every gRPC server is expected to have, health and reflection, as rpcs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final

from google.protobuf import any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

from dragoman.bindings.grpc.framing import GrpcFailedError
from dragoman.errors import InvalidRequestError
from dragoman.server.grpc.calls import Context, Rpc
from dragoman.server.grpc.descriptors import (
    HEALTH,
    REFLECTION,
    SERVING_STATUS,
    files,
    message_class,
)

__all__ = (
    "Health",
    "Reflection",
    "UnknownServiceError",
    "standard_rpcs",
)


WATCH_SECONDS: Final = 1.0
"""How often one who watches is looked after."""


class UnknownServiceError(Exception):
    """The service that was asked for is not one of ours."""


class Health:
    """Tells for every service the same: whether the agent can take work.

    Args:
        services: the full names of what is served; "" stands for all of it.
    """

    def __init__(self, services: Iterable[str], is_ready: Callable[[], bool]) -> None:
        self._services = frozenset({"", *services})
        self._is_ready = is_ready

    def check(self, request: bytes) -> bytes:
        """Answer a Check.

        Raises:
            InvalidRequestError: the bytes are no request.
            UnknownServiceError: it asks for a service that is not served.
        """
        status = self._status(_read(request))
        if status == "SERVICE_UNKNOWN":
            raise UnknownServiceError
        return _write(status)

    async def watch(self, request: bytes, context: Context) -> None:
        """Answer a Watch: the status now, and again whenever it changes."""
        service = _read(request)
        told = ""
        while True:
            status = self._status(service)
            if status != told:
                context.write(_write(status))
                await context.drain()
                told = status
            await asyncio.sleep(WATCH_SECONDS)

    def _status(self, service: str) -> str:
        if service not in self._services:
            return "SERVICE_UNKNOWN"
        return "SERVING" if self._is_ready() else "NOT_SERVING"


def _read(request: bytes) -> str:
    asked = message_class(f"{HEALTH}.HealthCheckRequest")()
    try:
        asked.ParseFromString(request)
    except DecodeError:
        raise InvalidRequestError("This is no request for a health check") from None
    return asked.service


def _write(status: str) -> bytes:
    response = message_class(f"{HEALTH}.HealthCheckResponse")(status=SERVING_STATUS.index(status))
    return response.SerializeToString()


_WELL_KNOWN: Final = (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2)
"""What the described files may import."""

_NO_SUCH_SYMBOL: Final = 5
_UNIMPLEMENTED: Final = 12


class Reflection:
    """Knows files by their names and by the symbols they define.

    Args:
        services: the full names of what is served.
        files: what describes it, serialized FileDescriptorProtos.
    """

    def __init__(self, services: Iterable[str], files: Iterable[bytes]) -> None:
        self._services = tuple(services)
        self._files: dict[str, FileDescriptorProto] = {}
        self._serialized: dict[str, bytes] = {}
        self._defined_in: dict[str, str] = {}
        for serialized in (*(m.DESCRIPTOR.serialized_pb for m in _WELL_KNOWN), *files):
            file = FileDescriptorProto.FromString(serialized)
            self._files[file.name] = file
            self._serialized[file.name] = serialized
            self._defined_in.update(dict.fromkeys(_symbols(file), file.name))

    def answer(self, request: bytes) -> bytes:
        """Answer a request; both versions of the service have the same bytes.

        Raises:
            InvalidRequestError: the bytes are no request.
        """
        asked = message_class(f"{REFLECTION[0]}.ServerReflectionRequest")()
        try:
            asked.ParseFromString(request)
        except DecodeError:
            raise InvalidRequestError("This is no request for reflection") from None
        response = message_class(f"{REFLECTION[0]}.ServerReflectionResponse")(
            valid_host=asked.host, original_request=asked
        )
        self._fill(response, asked)
        return response.SerializeToString()

    def _fill(self, response: Any, asked: Any) -> None:
        kind = asked.WhichOneof("message_request")
        if kind == "list_services":
            for name in self._services:
                response.list_services_response.service.add(name=name)
        elif kind == "file_by_filename":
            self._show(response, asked.file_by_filename)
        elif kind == "file_containing_symbol":
            symbol = asked.file_containing_symbol.removeprefix(".")
            self._show(response, self._defined_in.get(symbol, ""))
        elif kind == "all_extension_numbers_of_type":
            # proto3 has no extensions, so a type that exists has none.
            name = asked.all_extension_numbers_of_type
            if name in self._defined_in:
                response.all_extension_numbers_response.base_type_name = name
            else:
                _refuse(response, _NO_SUCH_SYMBOL, "There is no such type")
        elif kind == "file_containing_extension":
            _refuse(response, _NO_SUCH_SYMBOL, "There are no extensions")
        else:
            _refuse(response, _UNIMPLEMENTED, "The request asks for nothing known")

    def _show(self, response: Any, name: str) -> None:
        if name in self._files:
            # In one answer with all it imports, so that nobody has to ask for each.
            shown = response.file_descriptor_response.file_descriptor_proto
            shown.extend(self._serialized[file] for file in self._with_imports(name))
        else:
            _refuse(response, _NO_SUCH_SYMBOL, "There is no such file or symbol")

    def _with_imports(self, name: str) -> Iterable[str]:
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            file = waiting.pop()
            if file in self._files and file not in found:
                found[file] = None
                waiting.extend(self._files[file].dependency)
        return found


def _refuse(response: Any, code: int, why: str) -> None:
    response.error_response.error_code = code
    response.error_response.error_message = why


def _symbols(file: FileDescriptorProto) -> Iterator[str]:
    """Yield the full name of everything a file defines: types, fields, services, methods."""
    prefix = f"{file.package}." if file.package else ""
    for message in file.message_type:
        yield from _symbols_of(prefix, message)
    for enum in file.enum_type:
        yield f"{prefix}{enum.name}"
    for service in file.service:
        yield f"{prefix}{service.name}"
        for rpc in service.method:
            yield f"{prefix}{service.name}.{rpc.name}"


def _symbols_of(prefix: str, message: DescriptorProto) -> Iterator[str]:
    name = f"{prefix}{message.name}"
    yield name
    for field in message.field:
        yield f"{name}.{field.name}"
    for enum in message.enum_type:
        yield f"{name}.{enum.name}"
    for nested in message.nested_type:
        yield from _symbols_of(f"{name}.", nested)


_INVALID_ARGUMENT: Final = 3
_NOT_FOUND: Final = 5


def standard_rpcs(
    services: Iterable[str], described: Iterable[bytes], is_ready: Callable[[], bool]
) -> dict[str, Rpc]:
    """Return health and both versions of reflection, by the paths of their methods.

    Like the health paths of HTTP they are open to everybody: they tell what is public anyway.

    Args:
        services: the full names of the other services.
        described: serialized FileDescriptorProtos of those.
    """
    health_name = f"{HEALTH}.Health"
    reflection_names = [f"{package}.ServerReflection" for package in REFLECTION]
    names = [*services, health_name, *reflection_names]
    health = Health(names, is_ready)
    reflection = _reflection(Reflection(names, (*files(), *described)))
    return {
        f"/{health_name}/Check": _check(health),
        f"/{health_name}/Watch": _watch(health),
        **{f"/{name}/ServerReflectionInfo": reflection for name in reflection_names},
    }


def _check(health: Health) -> Rpc:
    async def check(request: bytes, context: Context) -> bytes:
        del context
        try:
            return health.check(request)
        except UnknownServiceError:
            raise GrpcFailedError(_NOT_FOUND, "There is no such service") from None
        except InvalidRequestError as problem:
            raise GrpcFailedError(_INVALID_ARGUMENT, problem.message) from None

    return Rpc(unary=check)


def _watch(health: Health) -> Rpc:
    async def watch(request: bytes, context: Context) -> None:
        context.allow_cancel()
        try:
            await health.watch(request, context)
        except InvalidRequestError as problem:
            raise GrpcFailedError(_INVALID_ARGUMENT, problem.message) from None

    return Rpc(unary=watch)


def _reflection(reflection: Reflection) -> Rpc:
    async def reflect(requests: AsyncIterator[bytes], context: Context) -> None:
        context.allow_cancel()
        try:
            async for request in requests:
                context.write(reflection.answer(request))
                await context.drain()
        except InvalidRequestError as problem:
            raise GrpcFailedError(_INVALID_ARGUMENT, problem.message) from None

    return Rpc(bidi=reflect)
