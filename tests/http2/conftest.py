"""A server on a real socket for each test of HTTP/2."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.server.grpc_fakes import FakePerforms, OnePort, new_server, one_port


@pytest.fixture
def performs() -> FakePerforms:
    return FakePerforms()


@pytest.fixture
async def served(performs: FakePerforms) -> AsyncGenerator[OnePort]:
    async with one_port(new_server(performs)) as port:
        yield port
