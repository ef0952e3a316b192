import io
import logging

import pytest

from dragoman.cli.output import Output
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.transports.tls import Tls
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent


def test_requests_and_answers_are_told_without_secrets(cli: Cli, fake: FakeAgent) -> None:
    result = cli("task", "get", "t-1", "--debug", "--svc-param", "X-Secret: hidden-one")
    lines = result.err.splitlines()
    assert f"> GET {fake.url}/.well-known/agent-card.json" in lines
    assert f"> POST {fake.url}/" in lines
    assert "> a2a-version: 1.0" in lines
    assert "> x-secret: <redacted>" in [line.lower() for line in lines]
    assert '> {"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t-1"}}' in lines
    assert "< HTTP status 200" in lines
    assert any(line.startswith('< {"jsonrpc": "2.0"') for line in lines)
    assert "hidden-one" not in result.err


@pytest.fixture
def err() -> io.BytesIO:
    return io.BytesIO()


def log(err: io.BytesIO, *, is_on: bool) -> WireLog:
    return WireLog(Output(io.BytesIO(), err), is_on=is_on)


async def test_nothing_is_told_unless_asked(err: io.BytesIO) -> None:
    quiet = log(err, is_on=False)
    quiet.tell(">", "something")
    async with quiet.http_client(Tls()) as client:
        assert client is None
    assert err.getvalue() == b""


def test_what_the_client_warns_of_is_told(err: io.BytesIO) -> None:
    logger = logging.getLogger("dragoman.client.anything")
    with log(err, is_on=False).library_lines():
        logger.warning("look at %s", "this")
        logger.info("not at that")
    logger.warning("nor at this")
    assert err.getvalue() == b"Warning: look at this\n"


def test_all_that_the_client_says_is_told_if_asked(err: io.BytesIO) -> None:
    with log(err, is_on=True).library_lines():
        logging.getLogger("dragoman.client.anything").info("going on")
    assert err.getvalue() == b"* going on\n"
