from collections.abc import AsyncIterator

from dragoman.conformance.lines import HttpReply, RpcStatusError


async def nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def test_a_media_type_has_no_parameters() -> None:
    headers = {"content-type": "Application/JSON ; charset=utf-8"}
    assert HttpReply(200, headers, nothing()).media_type == "application/json"
    assert HttpReply(200, {}, nothing()).media_type == ""


def test_a_status_keeps_what_it_came_with() -> None:
    problem = RpcStatusError(5, "gone", b"more")
    assert (problem.code, problem.details, problem.trailer) == (5, "gone", b"more")
    assert str(problem) == "status 5: gone"
