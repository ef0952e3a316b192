"""What every test shares: the event loop, how hard hypothesis tries, and the seed of the order."""

import os

import pytest
from hypothesis import HealthCheck, settings

# No deadline per example: machines differ too much. The timeout of pytest bounds the whole test.
settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile(
    "soak",
    max_examples=2000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("soak" if os.environ.get("DRAGOMAN_SOAK") else "dev")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    seed = config.getoption("randomly_seed", default=None)
    if seed is not None:
        terminalreporter.write_line(f"repeat this order with --randomly-seed={seed}")
