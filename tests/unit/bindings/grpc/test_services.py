from google.protobuf.descriptor_pb2 import FileDescriptorProto

from dragoman.bindings.grpc.services import DIALECTS, files_of
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.dialects.registry import RELEASES


def test_a_version_that_is_called_over_grpc_has_a_form_there() -> None:
    assert list(DIALECTS) == [each.version for each in RELEASES if "GRPC" in each.bindings]


def test_every_service_is_described_with_all_its_methods() -> None:
    dialects = (V1_0_GRPC, V0_3_GRPC)
    for dialect, serialized in zip(dialects, files_of(dialects), strict=True):
        file = FileDescriptorProto.FromString(serialized)
        (service,) = file.service
        assert f"{file.package}.{service.name}" == dialect.service
        # The older names of a method are served, and not described.
        assert {method.name for method in service.method} <= set(dialect.rpcs)
