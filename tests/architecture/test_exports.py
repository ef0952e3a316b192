"""The public surface is a list someone chose, and loading the package costs next to nothing."""

import subprocess
import sys
from types import ModuleType

import pytest

import dragoman
import dragoman.testing

PUBLIC = (
    "A2AError",
    "AccessRequest",
    "Agent",
    "AgentExtension",
    "AgentProvider",
    "AgentReply",
    "Artifact",
    "Authenticator",
    "ClientError",
    "Context",
    "DragomanError",
    "Evidence",
    "File",
    "InvalidParamsError",
    "Message",
    "Part",
    "Peer",
    "Principal",
    "Rejected",
    "RemoteAgent",
    "Reply",
    "RetryPolicy",
    "Role",
    "SyncContext",
    "Task",
    "TaskNotCompletedError",
    "TaskState",
    "ToolError",
    "UsageError",
    "__version__",
    "connect",
    "connect_sync",
)

TESTING = (
    "FakeClock",
    "Pairing",
    "RecordingTurn",
    "Served",
    "SyncPairing",
    "Wire",
    "pair",
    "pair_sync",
    "recording",
    "served",
    "served_sync",
    "user_message",
)

HEAVY = ("asyncio", "msgspec", "sqlite3", "uvicorn", "uvloop", "httptools", "ssl", "opentelemetry")
"""None of these is needed to import the package."""

SERVING = ("sqlite3", "uvicorn", "uvloop", "httptools", "httpx2", "pydantic", "opentelemetry")
"""None of these is needed to write an agent."""

CALLING = ("sqlite3", "uvicorn", "uvloop", "grpc", "google.protobuf", "pydantic", "opentelemetry")
"""None of these is needed to be ready to call one."""


def loaded_by(statement: str, modules: tuple[str, ...]) -> set[str]:
    """Return which of the modules a fresh interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(*(set({modules!r}) & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(output.stdout.split())


def test_the_public_list_is_the_one_that_was_chosen() -> None:
    assert dragoman.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_loaded(name: str) -> None:
    assert getattr(dragoman, name) is not None
    assert name in dir(dragoman)


def test_what_tests_are_written_with_is_what_was_chosen() -> None:
    assert dragoman.testing.__all__ == TESTING


@pytest.mark.parametrize("name", TESTING)
def test_all_that_tests_are_written_with_can_be_loaded(name: str) -> None:
    # A module of the same name would take its place as soon as it is imported.
    assert not isinstance(getattr(dragoman.testing, name), ModuleType)
    assert name in dir(dragoman.testing)


@pytest.mark.parametrize("package", [dragoman, dragoman.testing])
def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009 - the lookup is the point of the test


@pytest.mark.parametrize("package", ["dragoman", "dragoman.testing"])
def test_importing_the_package_loads_nothing_heavy(package: str) -> None:
    assert loaded_by(f"import {package}", HEAVY) == set()


def test_writing_an_agent_loads_no_server_and_no_database() -> None:
    assert loaded_by("from dragoman import Agent; Agent('A')", SERVING) == set()


def test_being_ready_to_call_loads_no_server_and_no_grpc() -> None:
    assert loaded_by("from dragoman import connect", CALLING) == set()
