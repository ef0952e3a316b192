"""Serving agents. ``Agent.asgi`` and ``dragoman serve`` use ``build_app``."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.server.admission.authorization import AccessRequest
    from dragoman.server.app import App
    from dragoman.server.assembly import build_app, build_service_app
    from dragoman.server.settings import Settings

__all__ = (
    "AccessRequest",
    "App",
    "Settings",
    "build_app",
    "build_service_app",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.server.admission.authorization": ("AccessRequest",),
            "dragoman.server.app": ("App",),
            "dragoman.server.assembly": ("build_app", "build_service_app"),
            "dragoman.server.settings": ("Settings",),
        },
    )
