"""Runs the tests of this folder, and sees that they notice when the agent changes."""

# ruff: noqa: S603 - it runs the tests beside it

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent


def run_tests(folder: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout


output = run_tests(FOLDER)
assert "9 passed" in output, output

with TemporaryDirectory() as place:
    changed = Path(shutil.copytree(FOLDER, Path(place) / "changed"))
    agent = changed / "tea.py"
    agent.write_text(agent.read_text().replace('"Steeping."', '"Wait."'))
    output = run_tests(changed)
    # Only the golden conversation knows what is said meanwhile, and shows the line.
    assert "1 failed, 8 passed" in output, output
    assert "Steeping." in output, output
    assert "Wait." in output, output

print("testing: ok")
