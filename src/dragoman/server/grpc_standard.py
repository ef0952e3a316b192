"""The services every gRPC server is expected to have, health and reflection, as handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from dragoman.errors import InvalidRequestError
from dragoman.server.grpc_calls import Context
from dragoman.server.grpc_descriptors import HEALTH, REFLECTION, files
from dragoman.server.grpc_health import Health, UnknownServiceError
from dragoman.server.grpc_reflection import Reflection

__all__ = ("standard_handlers",)


def standard_handlers(
    grpc: Any, services: Iterable[str], described: Iterable[bytes], is_ready: Callable[[], bool]
) -> list[Any]:
    """Return the handlers of health and of both versions of reflection.

    Like the health paths of HTTP they are open to everybody: they tell what is public anyway.

    Args:
        grpc: the library.
        services: the full names of the other services.
        described: serialized FileDescriptorProtos of those.
    """
    health_name = f"{HEALTH}.Health"
    reflection_names = [f"{package}.ServerReflection" for package in REFLECTION]
    names = [*services, health_name, *reflection_names]
    health = _health_handlers(grpc, Health(names, is_ready))
    reflection = _reflection_handlers(grpc, Reflection(names, (*files(), *described)))
    generic = grpc.method_handlers_generic_handler
    return [generic(health_name, health), *(generic(name, reflection) for name in reflection_names)]


def _health_handlers(grpc: Any, health: Health) -> dict[str, Any]:
    status = grpc.StatusCode

    async def check(request: bytes, context: Context) -> bytes:
        try:
            return health.check(request)
        except UnknownServiceError:
            await context.abort(status.NOT_FOUND, "There is no such service", ())
        except InvalidRequestError as problem:
            await context.abort(status.INVALID_ARGUMENT, problem.message, ())

    async def watch(request: bytes, context: Context) -> None:
        try:
            await health.watch(request, context)
        except InvalidRequestError as problem:
            await context.abort(status.INVALID_ARGUMENT, problem.message, ())

    return {
        "Check": grpc.unary_unary_rpc_method_handler(check),
        "Watch": grpc.unary_stream_rpc_method_handler(watch),
    }


def _reflection_handlers(grpc: Any, reflection: Reflection) -> dict[str, Any]:
    async def reflect(requests: AsyncIterator[bytes], context: Context) -> None:
        try:
            async for request in requests:
                await context.write(reflection.answer(request))
        except InvalidRequestError as problem:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem.message, ())

    return {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(reflect)}
