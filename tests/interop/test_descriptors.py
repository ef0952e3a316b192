"""Our messages against those of the official SDKs: every field, enum value and rpc.

The SDKs' descriptors are read in a process of their own environment; only bytes come back.
"""

from __future__ import annotations

import os
import subprocess
from base64 import b64decode
from functools import cache
from typing import Final, NamedTuple

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

from dragoman._proto.messages import pool
from tests.interop.environments import UnreachableError, environment

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-sdk"),
    # The first test may have to install the SDK.
    pytest.mark.timeout(600),
]

_PROGRAM: Final = """
import sys
from base64 import b64encode
from importlib import import_module

def show(file, shown):
    for needed in file.dependencies:
        show(needed, shown)
    if file.name not in shown:
        shown.add(file.name)
        print(b64encode(file.serialized_pb).decode())

show(import_module(sys.argv[1]).DESCRIPTOR, set())
"""


class Theirs(NamedTuple):
    """Where an SDK keeps its messages; ``later_names`` are JSON names since then."""

    peer: str
    module: str
    package: str
    later_names: tuple[tuple[str, str], ...] = ()


CURRENT: Final = Theirs("py_1_3", "a2a.types.a2a_pb2", "lf.a2a.v1")
OLD: Final = (
    Theirs("py_1_3", "a2a.compat.v0_3.a2a_v0_3_pb2", "a2a.v1"),
    Theirs("py_0_3", "a2a.grpc.a2a_pb2", "a2a.v1"),
    # 0.x reference, 3.9.
    Theirs(*("py_0_2", "a2a.grpc.a2a_pb2", "a2a.v1"), (("SendMessageRequest.request", "message"),)),
)


@cache
def their_file(theirs: Theirs) -> FileDescriptor:
    """Return the file of an SDK, in a pool that holds nothing else."""
    try:
        command, folder = environment(theirs.peer)
    except UnreachableError as error:
        reason = f"{theirs.peer} cannot be installed: {error}"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    done = subprocess.run(
        [*command, "-c", _PROGRAM, theirs.module],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    apart = DescriptorPool()
    for line in done.stdout.splitlines():
        apart.AddSerializedFile(b64decode(line))
    return apart.FindFileContainingSymbol(f"{theirs.package}.A2AService")


def our_file(package: str) -> FileDescriptor:
    return pool().FindFileContainingSymbol(f"{package}.A2AService")


class Field(NamedTuple):
    """Everything the wire and its JSON depend on."""

    number: int
    type: int
    of: str | None
    is_repeated: bool
    has_presence: bool
    json_name: str
    oneof: str | None

    @classmethod
    def like(cls, field: FieldDescriptor) -> Field:
        """Look at a field."""
        kind, oneof = field.message_type or field.enum_type, field.containing_oneof
        return cls(
            number=field.number,
            type=field.type,
            of=kind and kind.full_name,
            is_repeated=field.is_repeated,
            has_presence=field.has_presence,
            json_name=field.json_name,
            oneof=oneof and oneof.name,
        )


def fields_of(file: FileDescriptor) -> dict[str, Field]:
    """Return all fields by ``Message.field``."""
    found: dict[str, Field] = {}
    todo: list[Descriptor] = list(file.message_types_by_name.values())
    while todo:
        message = todo.pop()
        todo += message.nested_types
        name = message.full_name.removeprefix(f"{file.package}.")
        found |= {f"{name}.{field.name}": Field.like(field) for field in message.fields}
    return found


def enums_of(file: FileDescriptor) -> dict[str, dict[str, int]]:
    return {
        name: {value.name: value.number for value in enum.values}
        for name, enum in file.enum_types_by_name.items()
    }


def rpcs_of(file: FileDescriptor) -> dict[str, tuple[str, str, bool, bool]]:
    (service,) = file.services_by_name.values()
    return {
        method.name: (
            method.input_type.full_name,
            method.output_type.full_name,
            method.client_streaming,
            method.server_streaming,
        )
        for method in service.methods
    }


@pytest.mark.requirement("R-10.1-2")
def test_the_messages_of_1_0_are_those_of_the_sdk() -> None:
    ours, theirs = our_file(CURRENT.package), their_file(CURRENT)
    assert fields_of(ours) == fields_of(theirs)
    assert set(ours.message_types_by_name) == set(theirs.message_types_by_name)
    assert enums_of(ours) == enums_of(theirs)
    assert rpcs_of(ours) == rpcs_of(theirs)


@pytest.mark.parametrize("sdk", OLD, ids=lambda sdk: sdk.peer)
def test_all_that_an_old_sdk_has_is_in_our_messages_of_0_3(sdk: Theirs) -> None:
    ours, theirs = our_file(sdk.package), their_file(sdk)
    fields = fields_of(theirs)
    for name, json_name in sdk.later_names:
        fields[name] = fields[name]._replace(json_name=json_name)
    assert set(ours.message_types_by_name) >= set(theirs.message_types_by_name)
    assert fields.items() <= fields_of(ours).items()
    assert enums_of(ours) == enums_of(theirs)
    assert rpcs_of(theirs).items() <= rpcs_of(ours).items()


LATER: Final = (
    "ListTasksRequest.",
    "ListTasksResponse.",
    "Message.reference_task_ids",
)
"""What only other SDKs of 0.3 have."""


@pytest.mark.parametrize("sdk", OLD[:2], ids=lambda sdk: sdk.peer)
def test_what_we_have_beyond_an_sdk_of_0_3_is_what_came_later(sdk: Theirs) -> None:
    ours, theirs = our_file(sdk.package), their_file(sdk)
    assert [
        name for name in fields_of(ours).keys() - fields_of(theirs) if not name.startswith(LATER)
    ] == []
    assert rpcs_of(ours).keys() - rpcs_of(theirs) == {"ListTasks"}
