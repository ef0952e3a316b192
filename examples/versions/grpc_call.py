"""Call any gRPC server that has reflection, without generated code.

python grpc_call.py http://127.0.0.1:8000 lf.a2a.v1.A2AService/GetTask '{"id": "..."}'
"""

import sys
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def reflection_messages() -> tuple[Any, Any]:
    """Return the request and the response of reflection, as far as they are needed here."""
    file = descriptor_pb2.FileDescriptorProto(name="reflection.proto", package="seen")
    field = descriptor_pb2.FieldDescriptorProto
    for name, number, kind, label, member in (
        ("Request", 4, field.TYPE_STRING, field.LABEL_OPTIONAL, "symbol"),
        ("Files", 1, field.TYPE_BYTES, field.LABEL_REPEATED, "files"),
        ("Response", 4, field.TYPE_MESSAGE, field.LABEL_OPTIONAL, "found"),
    ):
        message = file.message_type.add(name=name)
        made = message.field.add(name=member, number=number, type=kind, label=label)
        if kind == field.TYPE_MESSAGE:
            made.type_name = "seen.Files"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    request, response = (pool.FindMessageTypeByName(f"seen.{n}") for n in ("Request", "Response"))
    return message_factory.GetMessageClass(request), message_factory.GetMessageClass(response)


def learn(channel: grpc.Channel, service: str) -> descriptor_pool.DescriptorPool:
    """Ask the server for the files that describe a service."""
    request, response = reflection_messages()
    ask = channel.stream_stream(REFLECTION, request.SerializeToString, response.FromString)
    (answer,) = ask(iter([request(symbol=service)]))
    pool = descriptor_pool.DescriptorPool()
    files = [descriptor_pb2.FileDescriptorProto.FromString(data) for data in answer.found.files]
    known = {file.name: file for file in files}

    def add(name: str) -> None:
        if file := known.pop(name, None):
            for needed in file.dependency:
                add(needed)
            pool.Add(file)

    for name in tuple(known):
        add(name)
    return pool


def call(url: str, path: str, params: str) -> Iterator[str]:
    """Call a method, and yield what it answers as JSON."""
    service, _, name = path.rpartition("/")
    with grpc.insecure_channel(url.removeprefix("http://")) as channel:
        method = learn(channel, service).FindServiceByName(service).methods_by_name[name]
        request: Any = message_factory.GetMessageClass(method.input_type)
        answer: Any = message_factory.GetMessageClass(method.output_type)
        kind: Any = channel.unary_stream if method.server_streaming else channel.unary_unary
        invoke = kind(f"/{path}", request.SerializeToString, answer.FromString)
        result = invoke(json_format.Parse(params, request()), timeout=30)
        for message in result if method.server_streaming else (result,):
            yield json_format.MessageToJson(message, indent=None)


if __name__ == "__main__":
    for line in call(*sys.argv[1:]):
        print(line, flush=True)
