"""Agents that work together, one of them made with the official SDK."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "examples" / "travel" / "check.py"


# It may have to install the SDK.
@pytest.mark.timeout(600)
def test_an_agent_of_the_official_sdk_does_its_part(
    server_of: Callable[[str], str], tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
    check = subprocess.run(
        [sys.executable, str(CHECK)],
        cwd=tmp_path,
        env={**environment, "no_proxy": "*", "FLIGHTS_URL": server_of("py_1_3")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout
    assert check.stdout.endswith("travel: ok\n")
