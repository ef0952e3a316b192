"""Which store the commands for operators are about: that of a server in the same folder."""

from __future__ import annotations

from typing import Final

from dragoman.cli.command import Invocation
from dragoman.cli.options.options import Option
from dragoman.errors import UsageError
from dragoman.server.settings import Settings, read_config_file
from dragoman.stores.maintenance import Maintenance
from dragoman.stores.opening import open_maintenance

__all__ = ("STORE", "keeper_of", "store_of")

STORE: Final = Option[str | None](
    name="store",
    metavar="URL",
    default=None,
    shown="that of dragoman serve: DRAGOMAN_STORE, dragoman.toml, or sqlite:///dragoman.db",
    # The variable is the one that the server reads.
    is_configurable=False,
    help="store to look at, such as sqlite:///tasks.db or postgres://user@host/name",
)


def keeper_of(invocation: Invocation) -> Maintenance:
    """Return what looks after the store that is meant; whether it exists is not looked at.

    Raises:
        UsageError: the store is gone with its process, or there is no such kind.
    """
    return open_maintenance(store_of(invocation), invocation.surroundings.folder)


def store_of(invocation: Invocation) -> str:
    """Return the address of the store that is meant."""
    variable = invocation.surroundings.environment.get("DRAGOMAN_STORE")
    return invocation.settings[STORE] or variable or _configured(invocation)


def _configured(invocation: Invocation) -> str:
    """Return the store that the settings file of a server names, or else the one by default."""
    surroundings = invocation.surroundings
    named = surroundings.environment.get("DRAGOMAN_CONFIG")
    file = surroundings.folder / (named or "dragoman.toml")
    settings = read_config_file(file) if named or file.is_file() else {}
    url = settings.get("store", Settings().store)
    if not isinstance(url, str):
        raise UsageError(f"{file}: store must be a text, not {url!r}")
    return url
