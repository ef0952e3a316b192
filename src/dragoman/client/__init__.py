"""Calling agents, of whatever version and binding. Start with ``dragoman.connect``."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.client.agent import Conversation, RemoteAgent
    from dragoman.client.discovery.card_cache import CardCache
    from dragoman.client.discovery.trust import CardTrust
    from dragoman.client.errors import (
        CardError,
        CardInvalidError,
        CardNotFoundError,
        CardUntrustedError,
        CatalogError,
        ClientError,
        CutError,
        NoInterfaceError,
        ProtocolError,
        TaskNotCompletedError,
        TimedOutError,
        UnreachableError,
        as_a2a_error,
    )
    from dragoman.client.results.content import ReceivedFile
    from dragoman.client.results.reply import AgentReply
    from dragoman.client.results.stream import AgentEvent, AgentStream
    from dragoman.client.results.tasks import TaskHandle
    from dragoman.client.retry import RetryPolicy
    from dragoman.client.service import RemoteService
    from dragoman.client.sync import SyncAgent, SyncReply, SyncStream, SyncTask
    from dragoman.client.tools.tool import Tool

__all__ = (
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
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.client.agent": ("Conversation", "RemoteAgent"),
            "dragoman.client.discovery.card_cache": ("CardCache",),
            "dragoman.client.discovery.trust": ("CardTrust",),
            "dragoman.client.errors": (
                "CardError",
                "CardInvalidError",
                "CardNotFoundError",
                "CardUntrustedError",
                "CatalogError",
                "ClientError",
                "CutError",
                "NoInterfaceError",
                "ProtocolError",
                "TaskNotCompletedError",
                "TimedOutError",
                "UnreachableError",
                "as_a2a_error",
            ),
            "dragoman.client.results.content": ("ReceivedFile",),
            "dragoman.client.results.reply": ("AgentReply",),
            "dragoman.client.results.stream": ("AgentEvent", "AgentStream"),
            "dragoman.client.results.tasks": ("TaskHandle",),
            "dragoman.client.retry": ("RetryPolicy",),
            "dragoman.client.service": ("RemoteService",),
            "dragoman.client.sync": ("SyncAgent", "SyncReply", "SyncStream", "SyncTask"),
            "dragoman.client.tools.tool": ("Tool",),
        },
    )
