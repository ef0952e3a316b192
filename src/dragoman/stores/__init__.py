"""The task log: ports, and the stores that keep it."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.stores.base import SharedTaskStore, TaskStore
    from dragoman.stores.maintenance import Maintenance
    from dragoman.stores.opening import open_maintenance, open_store
    from dragoman.stores.scope import Scope
    from dragoman.stores.webhooks import WebhookStore

__all__ = (
    "Maintenance",
    "Scope",
    "SharedTaskStore",
    "TaskStore",
    "WebhookStore",
    "open_maintenance",
    "open_store",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.stores.base": ("SharedTaskStore", "TaskStore"),
            "dragoman.stores.maintenance": ("Maintenance",),
            "dragoman.stores.opening": ("open_maintenance", "open_store"),
            "dragoman.stores.scope": ("Scope",),
            "dragoman.stores.webhooks": ("WebhookStore",),
        },
    )
