"""Limits hold for all replicas together, about: real processes, and a caller who goes round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.support.cluster import Replica, replicas
from tests.support.nats import nats_server
from tests.support.postgres import new_database

pytestmark = pytest.mark.anyio

AGENT = Path(__file__).parents[2] / "durability" / "counting_agent.py"
LIMIT = 80
REPLICAS = 3


async def let_through(members: Sequence[Replica]) -> int:
    """Ask one replica after the other until each has said no; return how often one said yes."""
    count = 0
    refusing: set[str] = set()
    async with httpx2.AsyncClient(headers={"A2A-Version": "1.0"}, trust_env=False) as http:
        while len(refusing) < len(members):
            for member in members:
                response = await http.get(f"{member.url}/tasks/none")
                assert response.status_code in (404, 429), response.text
                if response.status_code == 429:
                    assert int(response.headers["Retry-After"]) > 0
                    refusing.add(member.name)
                else:
                    count += 1
            assert count <= REPLICAS * LIMIT
    return count


@pytest.mark.timeout(120)
@pytest.mark.parametrize("bus", ["postgres", "nats"])
async def test_one_allowance_is_kept_by_all_replicas(bus: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        arguments = ["--store", new_database()]
        if bus == "nats":
            arguments += ["--bus", stack.enter_context(nats_server()).url]
        settings = {"rate_limit": f"{LIMIT}/h"}
        async with replicas(
            AGENT, tmp_path, *arguments, settings=settings, size=REPLICAS
        ) as members:
            # An eighth at each of the others is not told; half of it again is for news on its way.
            assert LIMIT <= await let_through(members) <= LIMIT + 3 * (REPLICAS - 1) * LIMIT // 16
