"""Where the official SDK comes from."""

import os
from pathlib import Path

import pytest

from tests.interop import sdk


@pytest.fixture(scope="session")
def sdk_python() -> Path:
    try:
        return sdk.sdk_python()
    except sdk.UnreachableError as error:
        reason = f"no registry with a2a-sdk {sdk.VERSION} can be reached: {error}"
    # Locally a missing network is nobody's fault; where changes are judged it must not go unseen.
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
