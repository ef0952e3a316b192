"""Finding the agent in a file or module that the user names."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException
from types import ModuleType
from typing import Final

from dragoman.agent.agent import Agent
from dragoman.errors import UsageError

__all__ = ("load_agent",)

_logger = logging.getLogger(__name__)

_OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
_IMPORTING: Final = ("<frozen importlib", f"{Path(importlib.__file__).parent}{os.sep}")
"""Where frames are that lead to a file of the user's, and say nothing of it."""


def load_agent(reference: str) -> Agent:
    """Return the agent of ``path/to/file.py``, ``file.py:name`` or ``package.module:name``.

    Without a name it is the variable ``agent``, or the only Agent there is.

    Raises:
        UsageError: there is no such file, module or agent, and what to do; or what the file raised,
            with the traceback from there on. The log has all of it, for who debugs.
    """
    place, _, name = reference.rpartition(":") if ":" in reference else (reference, "", "")
    with _blaming(place):
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


@contextmanager
def _blaming(place: str) -> Generator[None]:
    """Tell whatever a file raises as the user's to mend; what we ourselves refuse says enough."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        _logger.debug("%s cannot be loaded", place, exc_info=True)
        raise UsageError(f"{place} cannot be loaded\n{_told(error)}") from error


def _told(error: Exception) -> str:
    """Return the traceback of an error, from the user's own code on."""
    report = TracebackException.from_exception(error)
    _shorten(report)
    # A file that cannot be parsed was never entered; the error itself has the place.
    lines = report.format() if report.stack else report.format_exception_only()
    return "".join(lines).rstrip("\n")


def _shorten(report: TracebackException) -> None:
    frames = (each for each in report.stack if not each.filename.startswith(_IMPORTING))
    report.stack = StackSummary.from_list(list(dropwhile(_is_ours, frames)))
    for other in (report.__cause__, report.__context__):
        if other is not None:
            _shorten(other)


def _is_ours(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_OURS)


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
