import sys

import pytest

from dragoman._proto.messages import pool
from dragoman.bindings.grpc.base import GrpcDialect, can_serve, is_installed
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.model.operations import STREAMING, Operation

DIALECTS: list[GrpcDialect] = [V1_0_GRPC, V0_3_GRPC]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.service)
def test_every_rpc_of_the_service_is_an_operation(dialect: GrpcDialect) -> None:
    service = pool().FindServiceByName(dialect.service)
    for method in service.methods:
        assert (dialect.rpcs[method.name] in STREAMING) == method.server_streaming
    assert set(dialect.rpcs.values()) == set(Operation)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.service)
@pytest.mark.parametrize("operation", Operation)
def test_an_operation_is_called_by_a_name_of_the_service(
    dialect: GrpcDialect, operation: Operation
) -> None:
    name = dialect.rpc(operation)
    assert dialect.rpcs[name] is operation
    assert name in pool().FindServiceByName(dialect.service).methods_by_name


def test_the_packages_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed()
    monkeypatch.setitem(sys.modules, "grpc", None)
    assert (is_installed(), can_serve()) == (False, True)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    assert not can_serve()
