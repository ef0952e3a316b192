"""Finding the agent in a file or module that the user names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from dragoman.agent.agent import Agent
from dragoman.errors import UsageError

__all__ = ("load_agent",)


def load_agent(reference: str) -> Agent:
    """Return the agent of ``path/to/file.py``, ``file.py:name`` or ``package.module:name``.

    Without a name it is the variable ``agent``, or the only Agent there is.

    Raises:
        UsageError: there is no such file, module or agent; says what to do.
    """
    place, _, name = reference.rpartition(":") if ":" in reference else (reference, "", "")
    module = _from_file(Path(place)) if _is_path(place) else _from_import(place)
    if name:
        agent = getattr(module, name, None)
        if not isinstance(agent, Agent):
            found = ", ".join(sorted(_agents(module))) or "none"
            raise UsageError(f"{place} has no Agent called {name!r}; agents in it: {found}")
        return agent
    agents = _agents(module)
    if "agent" in agents:
        return agents["agent"]
    if not agents:
        raise UsageError(f'{place} has no Agent; make one: agent = Agent("Name", "What it does.")')
    if len(set(map(id, agents.values()))) > 1:
        choice = " or ".join(f"{place}:{known}" for known in sorted(agents))
        raise UsageError(f"{place} has several agents; say which: {choice}")
    return next(iter(agents.values()))


def _is_path(place: str) -> bool:
    return place.endswith(".py") or "/" in place or Path(place).exists()


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As if the file were run: it may import its neighbours, and pickle and typing find its names.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _from_import(place: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and f"{place}.".startswith(f"{error.name}."):
            raise UsageError(f"there is no file or module {place!r}") from None
        raise


def _agents(module: ModuleType) -> dict[str, Agent]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Agent)}
