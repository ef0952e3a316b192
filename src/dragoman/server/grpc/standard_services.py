"""The services every gRPC server is expected to have, health and reflection, as rpcs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from dragoman.bindings.grpc.framing import GrpcFailedError
from dragoman.errors import InvalidRequestError
from dragoman.server.grpc.calls import Context, Rpc
from dragoman.server.grpc.descriptors import HEALTH, REFLECTION, files
from dragoman.server.grpc.health import Health, UnknownServiceError
from dragoman.server.grpc.reflection import Reflection

__all__ = ("standard_rpcs",)

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
