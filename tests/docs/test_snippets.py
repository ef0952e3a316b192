"""Runs what the README and the documentation show.

A page is one story, told in blocks:

- A block with a title (``python title="agent.py"``) is a file, written to the page's own folder.
- ``python`` without a title is a fragment; it must compile.
- ``sh`` is run by bash in that folder, in one session per page, and must succeed. A block that
  begins with ``dragoman serve``, ``dragoman demo-server``, ``make run`` or ``uvicorn`` starts a
  server instead, in place of the one before.
- ``json`` or ``text`` right after ``sh`` is its output, shortened: lines and members may be left
  out, and ``…`` stands for anything.
- ``console`` and ``javascript`` are shown, and not run.

``http://127.0.0.1:8000`` stands for the address of the server, ``$DATABASE_URL`` for a database,
and 4318 for a port at which a page has a server of its own.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.postgres import new_database
from tests.support.serving import free_port

Json: TypeAlias = bool | float | str | list["Json"] | dict[str, "Json"] | None

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

ADDRESS = "http://127.0.0.1:8000"
OTHER_PORT = "4318"
DEMO = f"dragoman serve {ROOT}/examples/desk/agent.py --store memory:"
SERVERS = ("dragoman serve ", "dragoman demo-server ", "uvicorn ")
LANGUAGES = {
    *("python", "sh", "json", "text", "console", "toml", "mermaid", "nginx", "ini", "javascript"),
}
DONE = "--- the block is done ---"

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``follows`` tells the language of the block right before it, if any."""

    language: str
    title: str
    text: str
    follows: str


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        is_next = bool(found) and not text[end : match.start()].strip()
        follows = found[-1].language if is_next else ""
        found.append(Block(match[1], match[2] or "", match[3], follows))
        end = match.end()
    return found


class Story:
    """What a page has done so far: its files, its shell and its server."""

    def __init__(self, folder: Path, cleanup: ExitStack, **environment: str) -> None:
        self.output = ""
        self._folder = folder
        self._cleanup = cleanup
        self._files: dict[str, str] = {}
        self._url = ADDRESS
        self._other_port = str(free_port())
        self._server = ExitStack()
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "DESK_SECOND": "0.2",
            "PYTHONUNBUFFERED": "1",
            "no_proxy": "*",
            # What a page keeps for its reader is not kept for ours.
            "XDG_CONFIG_HOME": str(folder / ".config"),
            # What a framework among our tools brings along takes seconds to load, in every run.
            "PYTEST_ADDOPTS": "-p no:langsmith_plugin",
            **environment,
        }
        # Where a reader is, in a checkout.
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
        cleanup.push(self._server)
        self._shell = cleanup.enter_context(self._process(["bash"]))
        # In a terminal curl shows no progress; here, where its output is read, it would.
        self.run('curl() { command curl --no-progress-meter "$@"; }')

    def add_file(self, name: str, text: str) -> None:
        self._files[name] = text
        (self._folder / name).write_text(self._placed(text))

    def serve(self, command: str) -> None:
        self._server.close()
        self.output = ""
        command = DEMO if command == "make run" else command
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        for name, text in self._files.items():
            self.add_file(name, text)
        process = self._server.enter_context(
            self._process(
                [*shlex.split(self._placed(self._expanded(command))), "--port", str(port)]
            )
        )
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "ctrl" in line.lower():  # how to stop it is the last thing a server says
                return
        raise AssertionError(f"{command!r} serves nothing:\n{''.join(lines)}")

    def _placed(self, text: str) -> str:
        text = re.sub(rf"\b{OTHER_PORT}\b", self._other_port, text)
        return text.replace(ADDRESS, self._url)

    def _expanded(self, command: str) -> str:
        return re.sub(r"\$(\w+)", lambda match: self._environment[match[1]], command)

    def run(self, script: str) -> None:
        """Run a block in the shell of the page and keep what it prints."""
        # From a file and without standard input, so that no command eats the rest of the script.
        (self._folder / ".block").write_text(self._placed(script))
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(
            f"set -e -o pipefail; source ./.block </dev/null; echo; echo '{DONE}'\n"
        )
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.strip() == DONE:
                self.output = "".join(lines).strip().replace(self._url, ADDRESS)
                return
            lines.append(line)
        raise AssertionError(f"this failed:\n{script}\nwith:\n{''.join(lines)}")

    @contextmanager
    def _process(self, command: list[str]) -> Generator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            # With all it has started: a child that lives on would keep the pipe open.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def tell(story: Story, block: Block) -> None:
    """Do what one block says."""
    if block.title:
        story.add_file(block.title, block.text)
    elif block.language == "python":
        compile(block.text, "fragment", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    elif block.language == "sh" and f"{block.text.strip()} ".startswith((*SERVERS, "make run ")):
        story.serve(block.text.strip())
    elif block.language == "sh":
        story.run(block.text)
    elif block.follows == "sh" and block.language == "json":
        check_json(json.loads(block.text), json.loads(story.output))
    elif block.follows == "sh" and block.language == "text":
        check_text(block.text, story.output)


def check_json(shown: Json, actual: Json, place: str = "the output") -> None:
    """Assert that everything shown is there; "…" is anything, and at a list's end any rest."""
    if shown == "…":
        return
    if isinstance(shown, dict) and isinstance(actual, dict):
        for name, value in shown.items():
            assert name in actual, f"{place} has no {name!r}: {actual}"
            check_json(value, actual[name], f"{place}.{name}")
    elif isinstance(shown, list) and isinstance(actual, list):
        is_cut = bool(shown) and shown[-1] == "…"
        wanted = shown[:-1] if is_cut else shown
        assert is_cut or len(wanted) == len(actual), f"{place} is {actual}, not {shown}"
        for index, value in enumerate(wanted):
            check_json(value, actual[index], f"{place}[{index}]")
    else:
        assert shown == actual, f"{place} is {actual!r}, not {shown!r}"


def check_text(shown: str, actual: str) -> None:
    """Assert that the lines shown are there, in this order; … is any characters."""
    lines = iter(actual.splitlines())
    for line in shown.splitlines():
        pattern = ".*".join(re.escape(piece) for piece in line.split("…"))
        assert not line or any(re.fullmatch(pattern, each.rstrip()) for each in lines), (
            f"the output lacks {line!r}, or not in this place:\n{actual}"
        )


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        ({"a": 1}, {"a": 2}),  # another value
        ({"a": 1}, {"b": 1}),  # a member that is not there
        ([1], [1, 2]),  # a list with a rest that is not shown as cut
        ([1, 2, "…"], [1]),  # a list that is too short
    ],
)
def test_output_that_differs_is_noticed(shown: Json, actual: Json) -> None:
    with pytest.raises((AssertionError, IndexError)):
        check_json(shown, actual)


def test_lines_that_are_missing_or_out_of_order_are_noticed() -> None:
    check_text("a…c\nd", "abc\nb\nd")
    with pytest.raises(AssertionError, match="lacks 'e'"):
        check_text("abc\ne", "abc\nb\nd")
    with pytest.raises(AssertionError, match="lacks 'abc'"):
        check_text("d\nabc", "abc\nb\nd")


def require(program: str) -> None:
    if shutil.which(program) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{program} is not installed, and on CI every page must run")
        pytest.skip(f"{program} is not installed")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_page_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    blocks = blocks_of(page)
    if any(block.language == "sh" for block in blocks):
        require("bash")
    if any(block.language == "sh" and "curl " in block.text for block in blocks):
        require("curl")
    needs_database = any("DATABASE_URL" in block.text for block in blocks)
    environment = {"DATABASE_URL": new_database()} if needs_database else {}
    with ExitStack() as cleanup:
        story = Story(tmp_path, cleanup, **environment)
        for block, after in zip_longest(blocks, blocks[1:]):
            tell(story, block)
            is_shown = after is not None and after.follows == "sh"
            if block.language == "sh" and not is_shown:
                assert '"error"' not in story.output, f"{block.text}\n{story.output}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_is_of_a_kind_that_is_known(page: Path) -> None:
    blocks = blocks_of(page)
    assert page.read_text().count("```") == 2 * len(blocks), "a fence is indented or not closed"
    assert {block.language for block in blocks} <= LANGUAGES


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_file_of_a_page_is_used_by_it(page: Path) -> None:
    blocks = blocks_of(page)
    uses = [(block.title, block.text) for block in blocks if block.title or block.language == "sh"]
    unused = {
        block.title
        for block in blocks
        if block.title
        and not any(Path(block.title).stem in text for title, text in uses if title != block.title)
    }
    assert unused <= {"dragoman.toml"}  # read by every server in its folder


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_starts_with_a_program() -> None:
    exempt = {"docs/index.md", "docs/reference/cli-compliance.md"}  # lists, no lessons
    without = [
        name
        for name, page in zip(NAMES, PAGES, strict=True)
        # Decisions tell reasons; there is nothing to run.
        if name not in exempt and "/adr/" not in name and not blocks_of(page)[0].title
    ]
    assert without == []


def test_the_index_links_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text())}
    assert set(PAGES[1:]) - linked == {index}


def test_the_agent_of_the_readme_has_six_lines() -> None:
    agent = (ROOT / "examples" / "haiku" / "agent.py").read_text()
    assert len(agent.splitlines()) == 6
    assert blocks_of(ROOT / "README.md")[0].text == agent


def test_what_the_readme_leaves_in_a_checkout_is_not_committed() -> None:
    blocks = blocks_of(ROOT / "README.md")
    files = {block.title for block in blocks if block.title}
    for block in blocks:
        files |= set(re.findall(r"> ([\w.]+)", block.text)) if block.language == "sh" else set()
    assert "followed.jsonl" in files
    # The store of a server without --store, with its log, its lock and its keys.
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {f"/{name}" for name in files | {"dragoman.db*"}} <= set(ignored)
