import logging

import pytest

from dragoman.auth.outgoing.credentials import NOTHING, Attachment, Bearer
from dragoman.client.transports.request_headers import RequestHeaders

HOME = "https://agent.test:443"
TOKEN = "s3"  # noqa: S105 - no secret


class Renewable:
    """A token that changes when it was refused."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
        self.asked.append((origin, is_retry))
        return Attachment(headers={"Authorization": "new" if is_retry else "old"})


async def test_headers_go_to_the_agent_and_to_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    request_headers = RequestHeaders(HOME, {"X-Team": "blue"})
    assert (await request_headers.attachment_for("https://agent.test/rpc")).headers == {
        "X-Team": "blue"
    }
    with caplog.at_level(logging.WARNING):
        for url in ("https://other.test/rpc", "https://other.test/more"):
            assert await request_headers.attachment_for(url) == NOTHING
        # Without TLS it is another origin.
        assert await request_headers.attachment_for("http://agent.test/rpc") == NOTHING
    assert [record.args for record in caplog.records] == [
        ("https://other.test:443", HOME),
        ("http://agent.test:80", HOME),
    ]


async def test_credentials_go_to_whom_they_are_for() -> None:
    request_headers = RequestHeaders(HOME, {"X-Team": "blue"}, Bearer(token=TOKEN, for_origin=HOME))
    found = await request_headers.attachment_for("https://agent.test/rpc")
    assert found.headers == {"X-Team": "blue", "Authorization": f"Bearer {TOKEN}"}
    assert await request_headers.attachment_for("https://other.test/rpc") == NOTHING


async def test_credentials_are_renewed_once_they_were_refused() -> None:
    credentials = Renewable()
    request_headers = RequestHeaders(HOME, {}, credentials)
    await request_headers.attachment_for(HOME)
    assert request_headers.renew()
    renewed = await request_headers.attachment_for(HOME)
    await request_headers.attachment_for(HOME)
    assert renewed.headers == {"Authorization": "new"}
    assert credentials.asked == [(HOME, False), (HOME, True), (HOME, False)]


def test_who_has_no_credentials_cannot_renew_them() -> None:
    assert not RequestHeaders(HOME, {"X": "y"}).renew()
