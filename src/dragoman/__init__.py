"""Dragoman: the A2A toolkit.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.agent.context import Context
    from dragoman.agent.peers import Peer
    from dragoman.agent.results import File, Rejected, Reply
    from dragoman.agent.sync_context import SyncContext
    from dragoman.auth.incoming.authenticator import Authenticator, Evidence
    from dragoman.client.agent import RemoteAgent
    from dragoman.client.connect import connect
    from dragoman.client.errors import ClientError, TaskNotCompletedError
    from dragoman.client.results.reply import AgentReply
    from dragoman.client.retry import RetryPolicy
    from dragoman.client.sync import connect_sync
    from dragoman.errors import A2AError, DragomanError, InvalidParamsError, ToolError, UsageError
    from dragoman.model.cards import AgentExtension, AgentProvider
    from dragoman.model.messages import Message, Role
    from dragoman.model.parts import Part
    from dragoman.model.tasks import Artifact, Task, TaskState
    from dragoman.server.admission.authorization import AccessRequest
    from dragoman.service.principal import Principal

__all__ = (
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

__version__: Final = "0.1.0"

_HOMES: Final = {
    "A2AError": "dragoman.errors",
    "AccessRequest": "dragoman.server.admission.authorization",
    "Agent": "dragoman.agent.agent",
    "AgentExtension": "dragoman.model.cards",
    "AgentProvider": "dragoman.model.cards",
    "AgentReply": "dragoman.client.results.reply",
    "Artifact": "dragoman.model.tasks",
    "Authenticator": "dragoman.auth.incoming.authenticator",
    "ClientError": "dragoman.client.errors",
    "Context": "dragoman.agent.context",
    "DragomanError": "dragoman.errors",
    "Evidence": "dragoman.auth.incoming.authenticator",
    "File": "dragoman.agent.results",
    "InvalidParamsError": "dragoman.errors",
    "Message": "dragoman.model.messages",
    "Part": "dragoman.model.parts",
    "Peer": "dragoman.agent.peers",
    "Principal": "dragoman.service.principal",
    "Rejected": "dragoman.agent.results",
    "RemoteAgent": "dragoman.client.agent",
    "Reply": "dragoman.agent.results",
    "RetryPolicy": "dragoman.client.retry",
    "Role": "dragoman.model.messages",
    "SyncContext": "dragoman.agent.sync_context",
    "Task": "dragoman.model.tasks",
    "TaskNotCompletedError": "dragoman.client.errors",
    "TaskState": "dragoman.model.tasks",
    "ToolError": "dragoman.errors",
    "UsageError": "dragoman.errors",
    "connect": "dragoman.client.connect",
    "connect_sync": "dragoman.client.sync",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what there is, loaded or not."""
    return sorted({*globals(), *__all__})
