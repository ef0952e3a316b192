"""The messages of gRPC's own services, health and reflection, described as protobuf wants it.

They live in a pool of their own: a program that has the official packages for them keeps both.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

__all__ = ("HEALTH", "REFLECTION", "SERVING_STATUS", "files", "message_class")

HEALTH: Final = "grpc.health.v1"
REFLECTION: Final = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
"""The same messages under two names; many clients still ask for the older one."""

SERVING_STATUS: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
"""In the order of their numbers."""

_Field = FieldDescriptorProto


@cache
def files() -> tuple[bytes, ...]:
    """Return the descriptions, one serialized FileDescriptorProto each."""
    described = (_health(), *(_reflection(package) for package in REFLECTION))
    return tuple(file.SerializeToString() for file in described)


@cache
def message_class(name: str) -> Any:
    """Return the class of a message by its full name."""
    return GetMessageClass(_pool().FindMessageTypeByName(name))


@cache
def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    for file in files():
        pool.AddSerializedFile(file)
    return pool


def _health() -> FileDescriptorProto:
    status = EnumDescriptorProto(
        name="ServingStatus",
        value=[
            EnumValueDescriptorProto(name=name, number=number)
            for number, name in enumerate(SERVING_STATUS)
        ],
    )
    response = _message(
        "HealthCheckResponse",
        _field("status", 1, "HealthCheckResponse.ServingStatus", is_enum=True),
    )
    response.enum_type.append(status)
    rpcs = [
        _rpc("Check", "HealthCheckRequest", "HealthCheckResponse"),
        _rpc("Watch", "HealthCheckRequest", "HealthCheckResponse", answers_stream=True),
    ]
    return _file(
        HEALTH,
        [_message("HealthCheckRequest", _field("service", 1)), response],
        ServiceDescriptorProto(name="Health", method=rpcs),
    )


def _reflection(package: str) -> FileDescriptorProto:
    number = _Field.TYPE_INT32
    request = _message(
        "ServerReflectionRequest",
        _field("host", 1),
        _field("file_by_filename", 3, is_choice=True),
        _field("file_containing_symbol", 4, is_choice=True),
        _field("file_containing_extension", 5, "ExtensionRequest", is_choice=True),
        _field("all_extension_numbers_of_type", 6, is_choice=True),
        _field("list_services", 7, is_choice=True),
        choice="message_request",
    )
    response = _message(
        "ServerReflectionResponse",
        _field("valid_host", 1),
        _field("original_request", 2, "ServerReflectionRequest"),
        _field("file_descriptor_response", 4, "FileDescriptorResponse", is_choice=True),
        _field("all_extension_numbers_response", 5, "ExtensionNumberResponse", is_choice=True),
        _field("list_services_response", 6, "ListServiceResponse", is_choice=True),
        _field("error_response", 7, "ErrorResponse", is_choice=True),
        choice="message_response",
    )
    others = [
        _message(
            "ExtensionRequest",
            _field("containing_type", 1),
            _field("extension_number", 2, number),
        ),
        _message(
            "FileDescriptorResponse",
            _field("file_descriptor_proto", 1, _Field.TYPE_BYTES, is_list=True),
        ),
        _message(
            "ExtensionNumberResponse",
            _field("base_type_name", 1),
            _field("extension_number", 2, number, is_list=True),
        ),
        _message("ListServiceResponse", _field("service", 1, "ServiceResponse", is_list=True)),
        _message("ServiceResponse", _field("name", 1)),
        _message("ErrorResponse", _field("error_code", 1, number), _field("error_message", 2)),
    ]
    rpc = _rpc("ServerReflectionInfo", request.name, response.name, answers_stream=True)
    rpc.client_streaming = True
    return _file(
        package,
        [request, response, *others],
        ServiceDescriptorProto(name="ServerReflection", method=[rpc]),
    )


def _file(
    package: str, messages: list[DescriptorProto], service: ServiceDescriptorProto
) -> FileDescriptorProto:
    """Put a file together; the names of types are relative until now."""
    for message in messages:
        for field in message.field:
            if field.type_name:
                field.type_name = f".{package}.{field.type_name}"
    for rpc in service.method:
        rpc.input_type = f".{package}.{rpc.input_type}"
        rpc.output_type = f".{package}.{rpc.output_type}"
    return FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto",
        package=package,
        syntax="proto3",
        message_type=messages,
        service=[service],
    )


def _message(name: str, *fields: FieldDescriptorProto, choice: str = "") -> DescriptorProto:
    oneofs = [OneofDescriptorProto(name=choice)] if choice else []
    return DescriptorProto(name=name, field=fields, oneof_decl=oneofs)


def _field(
    name: str,
    number: int,
    kind: _Field.Type.ValueType | str = _Field.TYPE_STRING,
    *,
    is_list: bool = False,
    is_enum: bool = False,
    is_choice: bool = False,
) -> FieldDescriptorProto:
    """Describe a field; ``kind`` is a message or an enum by its name, or a type of protobuf's."""
    field = _Field(
        name=name,
        number=number,
        label=_Field.LABEL_REPEATED if is_list else _Field.LABEL_OPTIONAL,
    )
    if not isinstance(kind, str):
        field.type = kind
    else:
        field.type = _Field.TYPE_ENUM if is_enum else _Field.TYPE_MESSAGE
        field.type_name = kind
    if is_choice:
        field.oneof_index = 0
    return field


def _rpc(
    name: str, takes: str, answers: str, *, answers_stream: bool = False
) -> MethodDescriptorProto:
    return MethodDescriptorProto(
        name=name, input_type=takes, output_type=answers, server_streaming=answers_stream
    )
