"""Rows, as a real node has rendered them."""

import json

import pytest

from dragoman.extensions.xpr.chain.rows import (
    AgentRow,
    JobRow,
    ScoreRow,
    UserRow,
    VoterRow,
    read_rows,
)
from dragoman.extensions.xpr.errors import ChainError
from tests.support.chain_double import recorded


def body_of(name: str) -> bytes:
    return json.dumps(recorded(name)[1]).encode()


def test_an_agent() -> None:
    (row,) = read_rows(body_of("agents-alice"), AgentRow)
    assert (row.account, row.owner, row.active) == ("alice", "bob", True)
    assert row.capability_names == ("compute", "ai")
    (inactive,) = read_rows(body_of("agents-eve"), AgentRow)
    assert not inactive.active
    (digits,) = read_rows(body_of("digits-key-type"), AgentRow)
    assert digits.account == "12345"
    assert read_rows(body_of("agents-nobody"), AgentRow) == ()


def test_numbers_come_as_numbers_or_as_text() -> None:
    (small,), (large,) = (read_rows(body_of(f"voters-{n}"), VoterRow) for n in ("alice", "bob"))
    assert (small.staked, large.staked) == (123_456_789, 99_999_999_999)
    (job,) = read_rows(body_of("job-43"), JobRow)
    assert (job.id, job.amount) == (43, 99_999_999_999_999)
    (score,) = read_rows(body_of("agentscores-alice"), ScoreRow)
    assert (score.avg_score, score.total_weight) == (9100, 20)
    (user,) = read_rows(body_of("usersinfo-alice"), UserRow)
    assert user.verified == 1


@pytest.mark.parametrize("truth", [1, True, 0, False])
def test_truth_comes_as_a_number_or_as_itself(truth: object) -> None:
    body = json.dumps({"rows": [{"account": "a", "active": truth}]}).encode()
    assert read_rows(body, AgentRow)[0].active is bool(truth)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('["a","b","a",""]', ("a", "b")),
        ("[]", ()),
        ("", ()),
        ("not json", ()),
        ('{"a":1}', ()),
        ("[1]", ()),
        ("[" * 100_000, ()),
    ],
)
def test_capabilities_are_whatever_an_agent_has_written(text: str, names: tuple[str, ...]) -> None:
    assert AgentRow(account="a", capabilities=text).capability_names == names


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"rows":1}',
        b'{"rows":[1]}',
        b'{"rows":[{}]}',
        b'{"rows":[{"account":1}]}',
        b'{"rows":[{"account":"a","registered_at":"x"}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_is_the_chains_fault(body: bytes) -> None:
    with pytest.raises(ChainError, match="cannot be read"):
        read_rows(body, AgentRow)
