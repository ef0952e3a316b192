"""What differs by version is told by its dialect: nobody else compares or lists version texts."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).resolve().parents[2] / "src" / "dragoman"

EXEMPT: Final = frozenset({"dialects", "bindings", "conformance", "demo", "testing"})
"""The forms themselves; checks of a given version; and what is there to be talked to in each."""

ALLOWED: Final = {"net/http1/server.py": "the versions are those of HTTP"}

_VERSION: Final = re.compile(r"[01]\.\d*(\.\d+)?([-+].*)?")
"""A version, the beginning of one, or the name of a form such as ``0.3+type``."""

_ASKING: Final = frozenset({"startswith", "endswith", "removeprefix", "get"})


def used_in(node: ast.AST) -> list[ast.expr | None]:
    """Return what a node compares, tables or looks up."""
    match node:
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.Dict():
            return [*node.keys, *node.values]
        case ast.Tuple() | ast.List() | ast.Set():
            return [*node.elts]
        case ast.MatchValue():
            return [node.value]
        case ast.Subscript():
            return [node.slice]
        case ast.Call(func=ast.Attribute(attr=name)) if name in _ASKING:
            # The second argument of ``get`` is what there is otherwise.
            return [*node.args[:1]]
        case _:
            return []


def texts_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the version texts that a module compares or tables, with their lines."""
    for node in ast.walk(ast.parse(source)):
        for each in used_in(node):
            if not (isinstance(each, ast.Constant) and isinstance(each.value, str)):
                continue
            if _VERSION.fullmatch(each.value):
                yield each.lineno, each.value


@pytest.mark.parametrize(
    "source",
    [
        'if version != "1.0": pass',
        'if version in ("0.2", "0.3"): pass',
        'FORMS = {"0.3": 1}',
        'FORMS = {"oldest": "0.1"}',
        'FORMS = frozenset({"0.3+type"})',
        'match version:\n    case "1.0":\n        pass',
        'version.startswith("0.")',
        'version.startswith(("1.", "0.3"))',
        'FORMS["0.3-proto"]',
        'FORMS.get("1.0.1")',
    ],
)
def test_what_is_looked_for_is_found(source: str) -> None:
    assert list(texts_in(source))


@pytest.mark.parametrize(
    "source", ['host = "0.0.0.0"', 'if host == "0.0.0.0": pass', '"1.0 has no such method"']
)
def test_what_is_no_version_is_left_alone(source: str) -> None:
    assert not list(texts_in(source))


def test_no_module_beside_the_dialects_compares_version_texts() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): list(texts_in(path.read_text("utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in EXEMPT
    }
    offenders = {place: texts for place, texts in found.items() if texts}
    assert set(offenders) == set(ALLOWED), offenders


# --- one version more ---------------------------------------------------------------------------

IMPORTS: Final = """
from dragoman.dialects.v1_1.card import CARD as CARD_1_1
from dragoman.dialects.v1_1.codec import V1_0_DIALECT as V1_1_DIALECT
"""

LINE: Final = """
    Release(
        version=Version(1, 1),
        card=CARD_1_1,
        methods=METHODS,
        rpc=V1_1_DIALECT,
        lenient=V1_1_DIALECT,
        strict=V1_1_DIALECT,
        bindings=("JSONRPC",),
        listed=("JSONRPC",),
    ),
"""

PROGRAM: Final = """
import asyncio
from dragoman import Agent, connect
from dragoman.dialects.registry import find_method, is_newest, webhook_dialect
from dragoman.testing import served

agent = Agent("Echo", "Repeats.")

@agent.skill
async def echo(text: str) -> str:
    return text

async def main():
    async with served(agent) as place:
        for version in (None, "1.1", "1.0", "0.3", "0.2", "0.1"):
            async with connect(place.url, version=version) as remote:
                assert (await remote.send("here")).text == "here", version
                listed = [
                    (each.protocol_version, each.protocol_binding)
                    for each in remote.card.supported_interfaces
                ]
                assert listed[:2] == [("1.1", "JSONRPC"), ("1.0", "JSONRPC")], listed

asyncio.run(main())
for is_strict in (False, True):
    for version in ("1.1", "1.0"):
        dialect = find_method("SendMessage", version, is_strict=is_strict).dialect
        assert dialect.name == version, (dialect.name, version)
assert is_newest("1.1") and not is_newest("1.0")
assert [webhook_dialect(name).name for name in ("1.1", "1.0", "0.3-grpc")] == ["1.1", "1.0", "0.3"]
"""


@pytest.mark.timeout(120)
def test_a_version_is_one_folder_and_one_line(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    dialects = shutil.copytree(PACKAGE, tmp_path / "dragoman", ignore=ignored) / "dialects"
    shutil.copytree(dialects / "v1_0", dialects / "v1_1")
    for path in (dialects / "v1_1").glob("*.py"):
        text = path.read_text("utf-8").replace("dialects.v1_0", "dialects.v1_1")
        path.write_text(text.replace('"1.0"', '"1.1"'), "utf-8")
    registry = dialects / "registry.py"
    text = registry.read_text("utf-8")
    for place, added in (("\nfrom dragoman.errors", IMPORTS), ("RELEASES: Final = (", LINE)):
        assert text.count(place) == 1
        text = text.replace(place, place + added if added is LINE else added + place)
    registry.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
