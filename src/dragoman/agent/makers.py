"""Makers: what stands behind ``Agent.from_mcp(...)`` and its like.

A maker stands on the authoring API, which knows of it no more than an address to import it from
when it is first asked for: as a name of the package itself is loaded, so that writing an agent
costs nobody a framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("MAKERS", "Maker")


class Maker(Struct, frozen=True):
    """A function that makes agents of something else.

    Attributes:
        module, function: where it is.
        extra: what must be installed for it.
    """

    module: str
    function: str
    extra: str

    def __call__(self, source: object, options: dict[str, object]) -> object:
        """Make an agent.

        Raises:
            UsageError: what it needs is not installed, or the maker cannot use what it was given.
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
        return cast("Callable[..., object]", getattr(module, self.function))


MAKERS: Final = {
    "langgraph": Maker("dragoman.adapters.langgraph", "agent_from_langgraph", "langgraph"),
    "mcp": Maker("dragoman.adapters.mcp.agent", "agent_from_mcp", "mcp"),
    "pydantic_ai": Maker("dragoman.adapters.pydantic_ai", "agent_from_pydantic_ai", "pydantic-ai"),
}
