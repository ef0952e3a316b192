"""Dragoman: the A2A toolkit.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Final

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.agent.context import Context
    from dragoman.agent.peers import Peer
    from dragoman.agent.results import Failed, File, Rejected, Reply
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
)

__version__: Final = "0.1.0"

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.agent.agent": ("Agent",),
            "dragoman.agent.context": ("Context",),
            "dragoman.agent.peers": ("Peer",),
            "dragoman.agent.results": ("Failed", "File", "Rejected", "Reply"),
            "dragoman.agent.sync_context": ("SyncContext",),
            "dragoman.auth.incoming.authenticator": ("Authenticator", "Evidence"),
            "dragoman.client.agent": ("RemoteAgent",),
            "dragoman.client.connect": ("connect",),
            "dragoman.client.errors": ("ClientError", "TaskNotCompletedError"),
            "dragoman.client.results.reply": ("AgentReply",),
            "dragoman.client.retry": ("RetryPolicy",),
            "dragoman.client.sync": ("connect_sync",),
            "dragoman.errors": (
                "A2AError",
                "DragomanError",
                "InvalidParamsError",
                "ToolError",
                "UsageError",
            ),
            "dragoman.model.cards": ("AgentExtension", "AgentProvider"),
            "dragoman.model.messages": ("Message", "Role"),
            "dragoman.model.parts": ("Part",),
            "dragoman.model.tasks": ("Artifact", "Task", "TaskState"),
            "dragoman.server.admission.authorization": ("AccessRequest",),
            "dragoman.service.principal": ("Principal",),
        },
    )
