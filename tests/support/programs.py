"""Programs of the machine that some tests drive."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ("need",)


def need(program: str) -> str:
    """Return where a program is; without it skip the test, or fail it on CI, which installs it."""
    found = shutil.which(program)
    if found is not None:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"{program} is not installed, and on CI nothing is skipped for that")
    pytest.skip(f"{program} is not installed")
