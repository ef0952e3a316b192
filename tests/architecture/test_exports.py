"""The public surface is a list someone chose, and loading the package costs next to nothing.

A change of these lists is a change of the interface, and gets a line in the changelog.
"""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

SURFACE: Final = {
    "dragoman": (
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
        "Failed",
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
    ),
    "dragoman.auth": (
        "AllOf",
        "ApiKey",
        "ApiKeys",
        "Authenticator",
        "BadCredentialsError",
        "Basic",
        "BasicUsers",
        "Bearer",
        "BearerJwt",
        "CardSigner",
        "ClientCertificate",
        "ClientCertificates",
        "ClientCredentials",
        "Credentials",
        "Custom",
        "CustomAuthenticator",
        "DeviceCode",
        "DevicePrompt",
        "Evidence",
        "Introspection",
        "MissingCredentialsError",
        "OpenId",
        "TokenKeeper",
        "TrustedKeys",
        "TrustedProxy",
        "Verification",
        "verify_card",
    ),
    "dragoman.client": (
        "AgentEvent",
        "AgentReply",
        "AgentStream",
        "CardCache",
        "CardError",
        "CardInvalidError",
        "CardNotFoundError",
        "CardTrust",
        "CardUntrustedError",
        "CatalogError",
        "ClientError",
        "Conversation",
        "CutError",
        "NoInterfaceError",
        "ProtocolError",
        "ReceivedFile",
        "RemoteAgent",
        "RemoteService",
        "RetryPolicy",
        "SyncAgent",
        "SyncReply",
        "SyncStream",
        "SyncTask",
        "TaskHandle",
        "TaskNotCompletedError",
        "TimedOutError",
        "Tool",
        "UnreachableError",
        "as_a2a_error",
    ),
    "dragoman.egress": (
        "Answer",
        "Destination",
        "DestinationRefusedError",
        "Egress",
        "EgressError",
        "EgressPolicy",
        "NoAnswerError",
        "Resolver",
        "is_sendable",
        "read_allowed",
        "read_url",
    ),
    "dragoman.engine": (
        "BEGINNING",
        "MOVES",
    ),
    "dragoman.extensions.xpr": (
        "AgentNotFoundError",
        "AgentRow",
        "Chain",
        "ChainError",
        "ChainUnavailableError",
        "MalformedError",
        "TrustPolicy",
        "TrustScore",
        "UnknownAccountError",
        "WrongCardError",
        "XprAuth",
        "XprDirectory",
        "XprError",
        "XprPresence",
        "XprSettings",
        "XprSigner",
        "load_xpr_settings",
    ),
    "dragoman.model": (
        "APIKeySecurityScheme",
        "AgentCapabilities",
        "AgentCard",
        "AgentCardSignature",
        "AgentExtension",
        "AgentInterface",
        "AgentProvider",
        "AgentSkill",
        "Artifact",
        "AuthenticationInfo",
        "AuthorizationCodeOAuthFlow",
        "CancelTaskRequest",
        "ClientCredentialsOAuthFlow",
        "DeleteTaskPushNotificationConfigRequest",
        "DeviceCodeOAuthFlow",
        "GetExtendedAgentCardRequest",
        "GetTaskPushNotificationConfigRequest",
        "GetTaskRequest",
        "HTTPAuthSecurityScheme",
        "ImplicitOAuthFlow",
        "JsonObject",
        "ListTaskPushNotificationConfigsRequest",
        "ListTaskPushNotificationConfigsResponse",
        "ListTasksRequest",
        "ListTasksResponse",
        "Message",
        "MutualTlsSecurityScheme",
        "OAuth2SecurityScheme",
        "OAuthFlows",
        "OpenIdConnectSecurityScheme",
        "Operation",
        "Part",
        "PasswordOAuthFlow",
        "Role",
        "SecurityRequirement",
        "SecurityScheme",
        "SendMessageConfiguration",
        "SendMessageRequest",
        "SendMessageResponse",
        "StreamResponse",
        "StringList",
        "SubscribeToTaskRequest",
        "Task",
        "TaskArtifactUpdateEvent",
        "TaskPushNotificationConfig",
        "TaskState",
        "TaskStatus",
        "TaskStatusUpdateEvent",
        "format_timestamp",
        "parse_timestamp",
    ),
    "dragoman.push": (
        "Notification",
        "Receiver",
        "sign_jwt",
    ),
    "dragoman.server": (
        "AccessRequest",
        "App",
        "Settings",
        "build_app",
        "build_service_app",
    ),
    "dragoman.service": (
        "A2AService",
        "Call",
        "EventStream",
        "Principal",
        "TaskOrigins",
        "Turn",
        "Worker",
    ),
    "dragoman.stores": (
        "Maintenance",
        "Scope",
        "SharedTaskStore",
        "TaskStore",
        "WebhookStore",
        "open_maintenance",
        "open_store",
    ),
    "dragoman.testing": (
        "FakeChain",
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
        "served_app",
        "served_sync",
        "user_message",
    ),
}
"""What users import, by the package that they import it from."""

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


NAMES: Final = tuple((package, name) for package, names in SURFACE.items() for name in names)

MODULES: Final = ("dragoman.clock", "dragoman.errors")
"""Modules that users import from, beside the packages."""

ROOT: Final = Path(__file__).resolve().parents[2]

DOCUMENTS: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
)


@pytest.mark.parametrize(("package", "names"), SURFACE.items())
def test_the_public_list_is_the_one_that_was_chosen(package: str, names: tuple[str, ...]) -> None:
    assert import_module(package).__all__ == names


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_can_be_loaded(package: str, name: str) -> None:
    loaded = import_module(package)
    # A module of the same name would take its place as soon as it is imported.
    assert not isinstance(getattr(loaded, name), ModuleType)
    assert name in dir(loaded)


@pytest.mark.parametrize("package", SURFACE)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(import_module(package), "nothing")  # noqa: B009 - the lookup is the point of the test


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_and_examples_import_from_the_public_paths_alone(document: Path) -> None:
    imported = re.findall(
        r"^\s*(?:from|import) (dragoman[\w.]*)", document.read_text(), re.MULTILINE
    )
    assert {*imported} <= {*SURFACE, *MODULES}


@pytest.mark.parametrize("package", ["dragoman", "dragoman.auth", "dragoman.testing"])
def test_importing_the_package_loads_nothing_heavy(package: str) -> None:
    assert loaded_by(f"import {package}", HEAVY) == set()


def test_writing_an_agent_loads_no_server_and_no_database() -> None:
    assert loaded_by("from dragoman import Agent; Agent('A')", SERVING) == set()


def test_being_ready_to_call_loads_no_server_and_no_grpc() -> None:
    assert loaded_by("from dragoman import connect", CALLING) == set()
