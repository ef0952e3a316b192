import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import Default

from dragoman.server.grpc.descriptors import files, message_class


def described() -> dict[str, FileDescriptorProto]:
    return {file.package: file for file in map(FileDescriptorProto.FromString, files())}


def numbers(package: str, message: str) -> dict[str, int]:
    found = next(m for m in described()[package].message_type if m.name == message)
    return {field.name: field.number for field in found.field}


def test_the_numbers_of_health_are_those_of_its_protocol() -> None:
    assert numbers("grpc.health.v1", "HealthCheckRequest") == {"service": 1}
    assert numbers("grpc.health.v1", "HealthCheckResponse") == {"status": 1}
    status = described()["grpc.health.v1"].message_type[1].enum_type[0]
    assert [(value.name, value.number) for value in status.value] == [
        ("UNKNOWN", 0),
        ("SERVING", 1),
        ("NOT_SERVING", 2),
        ("SERVICE_UNKNOWN", 3),
    ]


@pytest.mark.parametrize("package", ["grpc.reflection.v1", "grpc.reflection.v1alpha"])
def test_the_numbers_of_reflection_are_those_of_its_protocol(package: str) -> None:
    assert numbers(package, "ServerReflectionRequest") == {
        "host": 1,
        "file_by_filename": 3,
        "file_containing_symbol": 4,
        "file_containing_extension": 5,
        "all_extension_numbers_of_type": 6,
        "list_services": 7,
    }
    assert numbers(package, "ServerReflectionResponse") == {
        "valid_host": 1,
        "original_request": 2,
        "file_descriptor_response": 4,
        "all_extension_numbers_response": 5,
        "list_services_response": 6,
        "error_response": 7,
    }
    assert numbers(package, "ErrorResponse") == {"error_code": 1, "error_message": 2}


def test_which_rpc_streams_which_way() -> None:
    streams = {
        f"{package}.{service.name}/{rpc.name}": (rpc.client_streaming, rpc.server_streaming)
        for package, file in described().items()
        for service in file.service
        for rpc in service.method
    }
    assert streams == {
        "grpc.health.v1.Health/Check": (False, False),
        "grpc.health.v1.Health/Watch": (False, True),
        "grpc.reflection.v1.ServerReflection/ServerReflectionInfo": (True, True),
        "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": (True, True),
    }


def test_a_message_excludes_what_cannot_be_asked_together() -> None:
    request = message_class("grpc.reflection.v1.ServerReflectionRequest")(list_services="*")
    request.file_by_filename = "x.proto"
    assert request.WhichOneof("message_request") == "file_by_filename"


def test_nothing_is_put_where_other_libraries_keep_theirs() -> None:
    message_class("grpc.health.v1.HealthCheckRequest")
    with pytest.raises(KeyError):
        Default().FindMessageTypeByName("grpc.health.v1.HealthCheckRequest")
