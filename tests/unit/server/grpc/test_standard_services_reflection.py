from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from dragoman.errors import InvalidRequestError
from dragoman.server.grpc.descriptors import files, message_class
from dragoman.server.grpc.standard_services import Reflection

OWN = FileDescriptorProto(name="own.proto", package="own", syntax="proto3")
OWN.dependency.extend(["google/protobuf/struct.proto", "elsewhere.proto"])
outer = OWN.message_type.add(name="Outer")
outer.field.add(name="data", number=1, type=9, label=1)
outer.nested_type.add(name="Inner").enum_type.add(name="Kind").value.add(name="NONE", number=0)
OWN.enum_type.add(name="Color").value.add(name="RED", number=0)
OWN.service.add(name="Shop").method.add(
    name="Buy", input_type=".own.Outer", output_type=".own.Outer"
)

NOT_FOUND, UNIMPLEMENTED = 5, 12


def ask(**request: Any) -> Any:
    """Ask a server that has a shop; return the answer."""
    reflection = Reflection(["own.Shop"], [*files(), OWN.SerializeToString()])
    asked = message_class("grpc.reflection.v1.ServerReflectionRequest")(**request)
    answered = message_class("grpc.reflection.v1.ServerReflectionResponse")()
    answered.ParseFromString(reflection.answer(asked.SerializeToString()))
    assert answered.original_request == asked
    return answered


def names(response: Any) -> list[str]:
    return [
        FileDescriptorProto.FromString(file).name
        for file in response.file_descriptor_response.file_descriptor_proto
    ]


def test_services_are_listed() -> None:
    response = ask(host="here", list_services="*")
    assert [service.name for service in response.list_services_response.service] == ["own.Shop"]
    assert response.valid_host == "here"


@pytest.mark.parametrize(
    "symbol",
    [
        "own.Shop",
        "own.Shop.Buy",
        "own.Outer",
        "own.Outer.data",
        "own.Outer.Inner",
        "own.Outer.Inner.Kind",
        "own.Color",
        # As the files themselves write it.
        ".own.Shop",
    ],
)
def test_a_symbol_brings_its_file_and_what_that_imports(symbol: str) -> None:
    assert names(ask(file_containing_symbol=symbol)) == [
        "own.proto",
        "google/protobuf/struct.proto",
    ]


def test_a_file_is_found_by_its_name() -> None:
    found = ask(file_by_filename="google/protobuf/struct.proto")
    assert names(found) == ["google/protobuf/struct.proto"]
    assert names(ask(file_containing_symbol="grpc.health.v1.Health")) == ["grpc/health/v1.proto"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"file_by_filename": "no.proto"}, NOT_FOUND),
        ({"file_by_filename": ""}, NOT_FOUND),
        ({"file_containing_symbol": "own.Nothing"}, NOT_FOUND),
        ({"file_containing_symbol": ""}, NOT_FOUND),
        ({"all_extension_numbers_of_type": "own.Nothing"}, NOT_FOUND),
        ({"file_containing_extension": {"containing_type": "own.Outer"}}, NOT_FOUND),
        ({}, UNIMPLEMENTED),
    ],
)
def test_what_there_is_not_is_told(request_: dict[str, Any], code: int) -> None:
    assert ask(**request_).error_response.error_code == code


def test_a_type_has_no_extensions() -> None:
    response = ask(all_extension_numbers_of_type="own.Outer").all_extension_numbers_response
    assert (response.base_type_name, list(response.extension_number)) == ("own.Outer", [])


def test_bytes_that_are_no_request_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        Reflection([], []).answer(b"\xff")
