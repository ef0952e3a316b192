"""Every example runs, and checks itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/"))
NAMES = [folder.name for folder in EXAMPLES]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("folder", EXAMPLES, ids=NAMES)
def test_an_example_does_what_it_promises(folder: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
    check = subprocess.run(
        [sys.executable, str(folder / "check.py")],
        # Elsewhere, so that nothing an example leaves behind lands in the tree.
        cwd=tmp_path,
        env={**environment, "no_proxy": "*"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout
    assert check.stdout.endswith(f"{folder.name}: ok\n")


def test_the_demo_agent_can_be_read_in_one_sitting() -> None:
    (desk,) = [folder / "agent.py" for folder in EXAMPLES if folder.name == "desk"]
    assert len(desk.read_text().splitlines()) <= 250
