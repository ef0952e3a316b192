"""Dragoman: the A2A toolkit.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.agent.context import Context, SyncContext
    from dragoman.agent.files import File
    from dragoman.agent.results import Rejected, Reply
    from dragoman.errors import A2AError, DragomanError, InvalidParamsError, UsageError
    from dragoman.model.cards import AgentExtension, AgentProvider
    from dragoman.model.messages import Message, Role
    from dragoman.model.parts import Part
    from dragoman.model.tasks import Artifact, Task, TaskState

__all__ = (
    "A2AError",
    "Agent",
    "AgentExtension",
    "AgentProvider",
    "Artifact",
    "Context",
    "DragomanError",
    "File",
    "InvalidParamsError",
    "Message",
    "Part",
    "Rejected",
    "Reply",
    "Role",
    "SyncContext",
    "Task",
    "TaskState",
    "UsageError",
    "__version__",
)

__version__: Final = "0.1.0"

_HOMES: Final = {
    "A2AError": "dragoman.errors",
    "Agent": "dragoman.agent.agent",
    "AgentExtension": "dragoman.model.cards",
    "AgentProvider": "dragoman.model.cards",
    "Artifact": "dragoman.model.tasks",
    "Context": "dragoman.agent.context",
    "DragomanError": "dragoman.errors",
    "File": "dragoman.agent.files",
    "InvalidParamsError": "dragoman.errors",
    "Message": "dragoman.model.messages",
    "Part": "dragoman.model.parts",
    "Rejected": "dragoman.agent.results",
    "Reply": "dragoman.agent.results",
    "Role": "dragoman.model.messages",
    "SyncContext": "dragoman.agent.context",
    "Task": "dragoman.model.tasks",
    "TaskState": "dragoman.model.tasks",
    "UsageError": "dragoman.errors",
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
