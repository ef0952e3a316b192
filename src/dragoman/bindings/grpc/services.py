"""The services: which form each version has over gRPC, and what describes it, for reflection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman._proto.messages import pool
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC, V0_3_GRPC_STRICT, CalledGrpcV0_3
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.dialects.negotiation import V0_3, V1_0, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dragoman.bindings.grpc.base import GrpcDialect
    from dragoman.dialects.legacy.file_bytes import FileBytes

__all__ = ("DIALECTS", "called_grpc", "files_of", "served_dialects")

DIALECTS: Final[Mapping[Version, GrpcDialect]] = {
    V1_0: V1_0_GRPC,
    V0_3: V0_3_GRPC,
    Version(0, 2): V0_3_GRPC,
}
"""The versions that travel over gRPC, newest first."""


def served_dialects(*, is_strict: bool) -> tuple[GrpcDialect, ...]:
    """Return the forms in which a server is called, newest first."""
    strict: Mapping[GrpcDialect, GrpcDialect] = {V0_3_GRPC: V0_3_GRPC_STRICT} if is_strict else {}
    return tuple(dict.fromkeys(strict.get(dialect, dialect) for dialect in DIALECTS.values()))


def called_grpc(version: Version, likely: FileBytes | None) -> GrpcDialect:
    """Return the dialect in which to call one agent, with the habit that is likely its own."""
    dialect = DIALECTS[version]
    return CalledGrpcV0_3(likely) if dialect is V0_3_GRPC else dialect


def files_of(dialects: Iterable[GrpcDialect]) -> tuple[bytes, ...]:
    """Return the serialized FileDescriptorProto of each dialect's service."""
    services = (pool().FindServiceByName(dialect.service) for dialect in dialects)
    return tuple(service.file.serialized_pb for service in services)
