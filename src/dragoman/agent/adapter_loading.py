"""Loading adapters: the functions behind ``Agent.from_mcp(...)`` and the like.

``dragoman.adapters`` is built on this package, which therefore knows only where each function is.
It is imported on first use, so that writing an agent needs no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("AGENT_ADAPTERS", "AdapterFunction")


class AdapterFunction(Struct, frozen=True):
    """A function of ``dragoman.adapters``, which is imported when it is called.

    Attributes:
        module, function: where it is.
        extra: what must be installed for it.
    """

    module: str
    function: str
    extra: str

    def __call__(self, source: object, options: dict[str, object]) -> object:
        """Call the function.

        Raises:
            UsageError: what it needs is not installed, or it cannot use what it was given.
        """
        return self.load()(source, **options)

    def load(self) -> Callable[..., object]:
        """Import the function.

        Raises:
            UsageError: what it needs is not installed.
        """
        try:
            module = import_module(self.module)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.partition(".")[0] == "dragoman":
                raise
            raise UsageError(
                f"this needs {missing.name}, which is not installed: "
                f"pip install 'dragoman[{self.extra}]'"
            ) from missing
        function: Callable[..., object] = getattr(module, self.function)
        return function


AGENT_ADAPTERS: Final = {
    "langgraph": AdapterFunction(
        "dragoman.adapters.langgraph", "agent_from_langgraph", "langgraph"
    ),
    "mcp": AdapterFunction("dragoman.adapters.mcp.agent", "agent_from_mcp", "mcp"),
    "pydantic_ai": AdapterFunction(
        "dragoman.adapters.pydantic_ai", "agent_from_pydantic_ai", "pydantic-ai"
    ),
}
