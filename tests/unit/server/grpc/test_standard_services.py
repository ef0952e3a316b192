"""Health and reflection as gRPC's own client calls them."""

from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from dragoman.server.grpc.descriptors import message_class
from tests.support.server.grpc_fakes import SERVICE, FakePerforms, aio, grpc, new_server, one_port

CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECT = "/grpc.reflection.{}.ServerReflection/ServerReflectionInfo"


def message(name: str, **fields: Any) -> bytes:
    made: Any = message_class(name)(**fields)
    return made.SerializeToString()


def health_of(service: str) -> bytes:
    return message("grpc.health.v1.HealthCheckRequest", service=service)


async def test_health_is_told_for_the_server_and_for_each_service() -> None:
    server = new_server(FakePerforms(), is_ready=lambda: True)
    async with one_port(server) as served, served.channel() as channel:
        check = channel.unary_unary(CHECK)
        for service in ("", SERVICE, "grpc.health.v1.Health"):
            assert await check(health_of(service)) == b"\x08\x01"
        with pytest.raises(aio.AioRpcError) as refused:
            await check(health_of("other"))
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        with pytest.raises(aio.AioRpcError) as refused:
            await check(b"\xff")
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_health_can_be_watched() -> None:
    server = new_server(FakePerforms(), is_ready=lambda: False)
    async with one_port(server) as served, served.channel() as channel:
        watch = channel.unary_stream(WATCH)(health_of(""))
        assert await watch.read() == b"\x08\x02"
        watch.cancel()
        refused = channel.unary_stream(WATCH)(b"\xff")
        with pytest.raises(aio.AioRpcError):
            await refused.read()


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_a_client_without_files_finds_its_way(version: str) -> None:
    async def ask(**request: str) -> Any:
        name = f"grpc.reflection.{version}.ServerReflection"
        await talk.write(message(f"{name}Request", **request))
        response = message_class(f"{name}Response")()
        response.ParseFromString(await talk.read())
        return response

    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        talk = channel.stream_stream(REFLECT.format(version))()
        listed = (await ask(list_services="*")).list_services_response.service
        assert [service.name for service in listed] == [
            SERVICE,
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
        shown = (await ask(file_containing_symbol="grpc.health.v1.Health")).file_descriptor_response
        file = FileDescriptorProto.FromString(shown.file_descriptor_proto[0])
        assert [service.name for service in file.service] == ["Health"]
        await talk.done_writing()
        assert await talk.read() is aio.EOF


async def test_a_request_for_reflection_that_is_none_ends_the_talk() -> None:
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        talk = channel.stream_stream(REFLECT.format("v1"))()
        await talk.write(b"\xff")
        with pytest.raises(aio.AioRpcError) as refused:
            await talk.read()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
