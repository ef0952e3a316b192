"""Public names of a package, loaded when they are first used (PEP 562).

Importing the package then costs nothing, and a server does not load what only clients need.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ("exported",)


def exported(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: its name.
        modules: the names that it exports, by the module that has them.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, list_names
