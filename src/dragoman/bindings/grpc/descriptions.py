"""What describes our services to those who ask: the compiled files behind them, for reflection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman._proto.messages import pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.bindings.grpc.base import GrpcDialect

__all__ = ("files_of",)


def files_of(dialects: Iterable[GrpcDialect]) -> tuple[bytes, ...]:
    """Return the serialized FileDescriptorProto of each dialect's service."""
    services = (pool().FindServiceByName(dialect.service) for dialect in dialects)
    return tuple(service.file.serialized_pb for service in services)
