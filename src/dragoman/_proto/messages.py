"""Message classes from the descriptor sets beside this file.

``make proto`` compiles the ``.proto`` files to those sets; nothing else is generated. The pool is
private: a program that uses another A2A library, whose messages have the same names, keeps both.
Nothing is loaded before somebody asks.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from google.protobuf import any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

__all__ = ("PACKAGES", "message_class", "pool")

PACKAGES: Final = ("a2a_v0_3", "a2a_v1_0", "google_rpc")
"""The names of the descriptor sets: ``a2a.v1``, ``lf.a2a.v1`` and ``google.rpc``."""

# What our files import; the sets hold our files alone.
_IMPORTED: Final = (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2)


@cache
def pool() -> DescriptorPool:
    """Return the pool with all our messages and services, and what they import."""
    private = DescriptorPool()
    for module in _IMPORTED:
        private.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    folder = files("dragoman._proto")
    for package in PACKAGES:
        compiled = FileDescriptorSet.FromString((folder / f"{package}.binpb").read_bytes())
        for file in compiled.file:
            private.AddSerializedFile(file.SerializeToString())
    return private


@cache
def message_class(name: str) -> type[Message]:
    """Return the class of a message by its full name, such as ``lf.a2a.v1.Task``."""
    return GetMessageClass(pool().FindMessageTypeByName(name))
