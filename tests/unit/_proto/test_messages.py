import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.internal import api_implementation

from dragoman._proto.messages import PACKAGES, message_class, pool

FOLDER = files("dragoman._proto")


def test_messages_are_read_and_written_in_c() -> None:
    assert api_implementation.Type() == "upb"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_descriptor_set_is_what_the_proto_compiles_to(package: str, tmp_path: Path) -> None:
    made = tmp_path / "made.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}"]
    subprocess.run([*command, f"--descriptor_set_out={made}", f"{package}.proto"], check=True)
    # Messages are compared, not bytes: another protoc may order them otherwise.
    committed = (FOLDER / f"{package}.binpb").read_bytes()
    assert FileDescriptorSet.FromString(committed) == FileDescriptorSet.FromString(
        made.read_bytes()
    ), "run make proto"


def test_every_proto_has_its_descriptor_set() -> None:
    names = [Path(item.name) for item in FOLDER.iterdir()]
    assert {name.stem for name in names if name.suffix == ".proto"} == set(PACKAGES)
    assert {name.stem for name in names if name.suffix == ".binpb"} == set(PACKAGES)


def test_nothing_of_ours_is_in_the_pool_that_all_libraries_share() -> None:
    assert message_class("lf.a2a.v1.Task")
    shared = descriptor_pool.Default()
    for name in ("lf.a2a.v1.Task", "a2a.v1.Task", "google.rpc.Status"):
        with pytest.raises(KeyError):
            shared.FindMessageTypeByName(name)


def test_a_class_is_made_once() -> None:
    assert message_class("a2a.v1.Task") is message_class("a2a.v1.Task")


@pytest.mark.parametrize(
    "name",
    [
        "google.protobuf.Struct",
        "google.protobuf.Timestamp",
        "google.protobuf.Empty",
        "google.rpc.Status",
        "google.rpc.ErrorInfo",
        "google.rpc.BadRequest",
        "google.rpc.RetryInfo",
    ],
)
def test_the_pool_has_what_the_protocol_borrows(name: str) -> None:
    assert message_class(name).DESCRIPTOR.full_name == name


@pytest.mark.requirement("R-10.1-2", "R-10.7-1")
@pytest.mark.parametrize("package", ["lf.a2a.v1", "a2a.v1"])
def test_the_two_streams_are_server_streams(package: str) -> None:
    service = pool().FindServiceByName(f"{package}.A2AService")
    assert not any(method.client_streaming for method in service.methods)
    streams = {method.output_type.name for method in service.methods if method.server_streaming}
    assert streams == {"StreamResponse"}
    assert sum(method.server_streaming for method in service.methods) == 2
