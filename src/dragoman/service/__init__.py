"""The ports: ``A2AService`` is what can be called, ``Worker`` what runs a turn."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.service.principal import Principal
    from dragoman.service.service import A2AService, Call, EventStream, TaskOrigins
    from dragoman.service.worker import Turn, Worker

__all__ = (
    "A2AService",
    "Call",
    "EventStream",
    "Principal",
    "TaskOrigins",
    "Turn",
    "Worker",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.service.principal": ("Principal",),
            "dragoman.service.service": ("A2AService", "Call", "EventStream", "TaskOrigins"),
            "dragoman.service.worker": ("Turn", "Worker"),
        },
    )
