import msgspec
import pytest

from dragoman.dialects.profiles.xpr.answers import decode_task
from dragoman.errors import InvalidParamsError, JSONParseError
from tests.support.chain_double import VECTORS

RECORDED = [
    one["response"]["result"]
    for one in VECTORS["server_exchanges"]
    if isinstance(one["response"], dict) and "result" in one["response"]
]


@pytest.mark.parametrize("result", RECORDED, ids=[result["id"] for result in RECORDED])
def test_what_the_networks_own_server_has_answered_is_read(result: dict[str, object]) -> None:
    task = decode_task(msgspec.json.encode(result))
    assert task.id == result["id"]
    assert task.context_id == result.get("contextId", "")
    assert len(task.artifacts) == len(result.get("artifacts", []))  # pyright: ignore[reportArgumentType] - as recorded
    assert task.metadata == result.get("metadata")


def test_artifacts_that_share_a_number_are_told_apart() -> None:
    parts = [{"type": "text", "text": "x"}]
    artifacts = [{"parts": parts, "index": 0}, {"parts": parts, "index": 0, "lastChunk": True}]
    found = {"id": "t", "status": {"state": "completed"}, "artifacts": artifacts}
    task = decode_task(msgspec.json.encode(found))
    assert [each.artifact_id for each in task.artifacts] == ["idx-0", "idx-1"]


@pytest.mark.parametrize(
    "found",
    [
        b"{}",
        b'{"id": "t"}',
        b'{"id": "t", "status": {}}',
        b'{"id": 7, "status": {"state": "working"}}',
        b"[]",
        b"{",
    ],
)
def test_what_is_no_task_is_refused(found: bytes) -> None:
    with pytest.raises((InvalidParamsError, JSONParseError)):
        decode_task(found)
