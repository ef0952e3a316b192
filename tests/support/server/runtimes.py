"""The runtime of an application whose agent works in this process."""

from dragoman.server.app import App
from dragoman.server.tasks.runtime import Runtime

__all__ = ("runtime_of",)


def runtime_of(app: App) -> Runtime:
    """Return what the application runs on, with its tasks and streams."""
    assert isinstance(app.runtime, Runtime)
    return app.runtime
