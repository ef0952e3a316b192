"""Finds the store that an address names: the one place that knows which stores there are.

To add a store, say one on MySQL:

1. Write the folder ``stores/mysql/``: a ``TaskStore`` (or a ``SharedTaskStore``, if several
   servers can use it at once), a ``Maintenance``, and a module ``address.py`` with a function
   ``read_address(url)`` that returns a ``StoreAddress``.
2. Add its line to ``_KINDS`` below.
3. Add it to the stores that ``tests/contracts/`` runs against; those tests are the specification.

To remove a store, delete the folder and the line. Nothing else names a store by its kind; what
callers need to know of one is asked here, by its address. A store is imported only when an address
names it, so that drivers of other databases need not be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.stores.base import TaskStore
    from dragoman.stores.maintenance import Maintenance

__all__ = (
    "StoreAddress",
    "beside",
    "bus_of",
    "database_path",
    "is_shared",
    "key_file",
    "open_maintenance",
    "open_store",
    "store_file",
    "without_password",
)


class _Kind(NamedTuple):
    """One kind of store.

    Attributes:
        schemes: how its addresses begin, before the colon.
        address: the module that reads them.
        forms: examples of addresses, for error messages.
    """

    schemes: tuple[str, ...]
    address: str
    forms: tuple[str, ...]


_KINDS: Final = (
    _Kind(
        ("sqlite",),
        "dragoman.stores.sqlite.address",
        ("sqlite:///tasks.db", "sqlite:////var/lib/agent/tasks.db"),
    ),
    _Kind(
        ("postgres", "postgresql"),
        "dragoman.stores.postgres.address",
        ("postgres://user:password@host:5432/database",),
    ),
    _Kind(("memory",), "dragoman.stores.memory.address", ("memory:",)),
)
"""Every store. The order is that of the forms in error messages."""

_BY_SCHEME: Final = {scheme: kind for kind in _KINDS for scheme in kind.schemes}


class StoreAddress(Protocol):
    """An address, as the store that it names reads it; reading it opens and imports nothing."""

    @property
    def is_shared(self) -> bool:
        """Whether several servers can use the store at once."""
        ...

    @property
    def bus(self) -> str:
        """The address of a bus for the servers on the store, unless they have another.

        "" if the store has none to offer, or is for one server alone.
        """
        ...

    @property
    def file(self) -> Path | None:
        """The file that the store is; None for one that is not a file."""
        ...

    def open(self) -> TaskStore:
        """Return the store; it still has to be opened.

        Raises UsageError with a remedy when its driver is not installed.
        """
        ...

    def maintenance(self, folder: Path) -> Maintenance:
        """Return what looks after the store from outside; relative paths begin in ``folder``.

        Raises UsageError when there is nothing to look after, or as ``open`` does.
        """
        ...

    def beside(self, name: str) -> str:
        """Return the address of a store like this one, for another agent of this name.

        Raises UsageError for a store that has nothing beside it.
        """
        ...


def open_store(url: str) -> TaskStore:
    """Return the store of an address; it still has to be opened.

    Raises UsageError for an address that is none, naming the known forms.
    """
    return _address_of(url).open()


def open_maintenance(url: str, folder: Path) -> Maintenance:
    """Return what looks after the store of an address from outside, beside a server or without one.

    Args:
        folder: where relative paths begin.

    Raises UsageError for an address that names nothing that stays.
    """
    return _address_of(url).maintenance(folder)


def beside(url: str, name: str) -> str:
    """Return the address of a store like this one, for another agent of this name.

    Raises UsageError for a store that has nothing beside it.
    """
    return _address_of(url).beside(name)


def is_shared(url: str) -> bool:
    """Whether several servers can use the store of an address at once; False for no address."""
    address = _read(url)
    return address is not None and address.is_shared


def bus_of(url: str) -> str:
    """Return the address of the bus that the store of an address offers to its servers, or ""."""
    address = _read(url)
    return "" if address is None else address.bus


def store_file(url: str) -> Path | None:
    """Return the file of a store, None for one that is no file; raises UsageError as ``beside``."""
    return _address_of(url).file


def key_file(url: str) -> Path | None:
    """Return where the key to the secrets of a store is; None for one with nothing beside it."""
    path = store_file(url)
    return None if path is None else path.with_name(f"{path.name}.key")


def database_path(url: str) -> Path:
    """Return the file of a store that is one; raises UsageError for any other address."""
    address = _read(url)
    if address is None or address.file is None:
        raise _unknown(url)
    return address.file


def without_password(url: str) -> str:
    """Return an address as it may be shown, whatever it is."""
    scheme, separator, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{place}" if at else url


def _address_of(url: str) -> StoreAddress:
    address = _read(url)
    if address is None:
        raise _unknown(url)
    return address


def _read(url: str) -> StoreAddress | None:
    kind = _BY_SCHEME.get(url.partition(":")[0])
    return None if kind is None else import_module(kind.address).read_address(url)


def _unknown(url: str) -> UsageError:
    known = ", ".join(form for kind in _KINDS for form in kind.forms)
    return UsageError(f"{without_password(url)!r} is no store; known forms: {known}")
