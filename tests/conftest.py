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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long: at the end there would be nothing to do beside them.

    They are known by tests that have asked for more time than others.
    """
    long = {item.path for item in items if item.get_closest_marker("timeout") is not None}
    items.sort(key=lambda item: item.path not in long)
