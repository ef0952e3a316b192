"""a2a-sdk 0.3 at the address of the RxJS profile: what the profile adds does not break it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, Context
from tests.interop.environments import Environment
from tests.support.serving import serving
from tests.support.wire import Json

pytestmark = [
    pytest.mark.interop,
    # It may have to install the SDK.
    pytest.mark.timeout(600),
]

PROGRAM: Final = Path(__file__).with_name("peers") / "py_0_3_profile.py"


async def test_a_client_of_plain_0_3_can_use_the_profile(
    environment_of: Callable[[str], Environment],
) -> None:
    made = environment_of("py_0_3")
    agent = Agent("Looker", "Looks around through others.")

    @agent.skill
    async def look(ctx: Context, text: str) -> str:
        """Have a look."""
        return f"in {text}: {await ctx.use_tool('look')}"

    async with serving(agent, profiles=["rxjs"], shutdown_grace_seconds=0) as served:
        command = [*made.command, str(PROGRAM), f"{served.url}/api/a2a"]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False, timeout=60
        )
    assert done.returncode == 0, done.stderr
    saw: Json = json.loads(done.stdout)
    question = saw["asked"][-1]["status"]["message"]
    # What is not of 0.3 is left out by its reader, and the tool is data to it.
    assert "inputRequest" not in question
    assert [part["kind"] for part in question["parts"]] == ["text", "data"]
    assert saw["answered"][-1]["status"]["state"] == "completed"
    results = [each["artifact"] for each in saw["answered"] if each["kind"] == "artifact-update"]
    assert results[0]["parts"][0]["text"] == "in Rome: the Colosseum"
