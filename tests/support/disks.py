"""Disks that are almost full, for what must be told of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.programs import need

__all__ = ("DISK", "run_on_small_disk")

DISK: Final = "disk"
"""The folder on the disk, in that of the test."""

_PAGE: Final = 4096

# The mount is in a namespace of its own: nobody else sees it, and it is gone with the command.
_SCRIPT: Final = """
set -e
mkdir -p disk
mount -t tmpfs -o size="$1" tmpfs disk
dd if=/dev/zero of=disk/other bs=4096 count=1 status=none
test -z "$2" || cp "$2" disk/
shift 2
exec "$@"
"""


def run_on_small_disk(
    folder: Path,
    command: Sequence[str],
    *,
    left_pages: int,
    file: str = "",
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder whose ``disk`` has room for so many pages of 4 KiB more.

    Where nothing can be mounted, the test is skipped; on CI it fails.

    Args:
        file: is copied to the disk first.
    """
    _check_can_mount()
    used = -(-(folder / file).stat().st_size // _PAGE) if file else 0
    size = (1 + used + left_pages) * _PAGE
    return subprocess.run(
        _in_namespace(_SCRIPT, str(size), file, *command),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )


def _in_namespace(script: str, *arguments: str) -> list[str]:
    return [need("unshare"), "--map-root-user", "--mount", "sh", "-c", script, "sh", *arguments]


@cache
def _refusal() -> str:
    """What the machine says to a mount; "" if it does it."""
    script = "mount -t tmpfs -o size=4k tmpfs /mnt"
    done = subprocess.run(_in_namespace(script), capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def _check_can_mount() -> None:
    if not _refusal():
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"no disk can be mounted, and on CI nothing is skipped for that: {_refusal()}")
    pytest.skip(f"no disk can be mounted: {_refusal()}")
