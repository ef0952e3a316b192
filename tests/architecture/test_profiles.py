"""A profile is one folder and one line: without them the feature is gone, and nothing else is."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).resolve().parents[2] / "src" / "dragoman"

PROFILES: Final = ("rxjs", "xpr")

PROGRAM: Final = """
import asyncio, importlib, pathlib, sys
import dragoman
from dragoman import Agent, connect
from dragoman.dialects.registry import PROFILES
from dragoman.testing import served

package = pathlib.Path(dragoman.__file__).parent
# What else belongs to the network is of no use without its wire form.
rest = [
    ".".join(("dragoman", *path.relative_to(package).with_suffix("").parts))
    for path in sorted(package.rglob("*.py"))
    if path.name not in ("__init__.py", "__main__.py", "chain.py")
    and "%(name)s" not in str(path.relative_to(package))
]
for module in rest:
    importlib.import_module(module)

agent = Agent("Echo", "Repeats.")

@agent.skill
async def echo(text: str) -> str:
    return text

WAYS = (
    ("1.0", "JSONRPC"), ("1.0", "HTTP+JSON"), ("1.0", "GRPC"),
    ("0.3", "JSONRPC"), ("0.3", "HTTP+JSON"), ("0.3", "GRPC"),
    ("0.2", "JSONRPC"), ("0.1", "JSONRPC"),
)

async def main():
    async with served(agent) as place:
        for version, binding in WAYS:
            async with connect(place.url, version=version, binding=binding) as remote:
                assert (await remote.send("still here")).text == "still here", (version, binding)

asyncio.run(main())
print(*(profile.name for profile in PROFILES))
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PROFILES)
def test_without_its_folder_and_its_line_a_profile_is_gone_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(PACKAGE, tmp_path / "dragoman", ignore=ignored)
    shutil.rmtree(package / "dialects" / "profiles" / name)
    registry = package / "dialects" / "registry.py"
    line = f'    _profile("{name}"),\n'
    text = registry.read_text()
    assert text.count(line) == 1
    registry.write_text(text.replace(line, ""))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % {"name": name}],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [other for other in PROFILES if other != name]


@pytest.mark.parametrize("folder", ["server", "client"])
def test_server_and_client_name_no_profile(folder: str) -> None:
    named = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search("|".join(PROFILES), line, re.IGNORECASE)
    ]
    assert named == []
