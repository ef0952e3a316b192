"""What people are told of a store whose schema is of another version than this Dragoman's."""

from __future__ import annotations

import shlex

from dragoman.errors import UsageError

__all__ = ("newer", "older")


def older(name: str, url: str, version: int, latest: int, *, verb: str = "used") -> UsageError:
    """Return the refusal of a store that has to be upgraded first.

    Args:
        name: how people know the store.
        url: its address, without a password; it stands in the command that is to be run.
        verb: what cannot be done to it, as in "cannot be checked".
    """
    return UsageError(
        f"{name} is of an older version (schema {version}, this Dragoman has {latest}) and cannot "
        f"be {verb} before it is upgraded; run dragoman db upgrade --store {shlex.quote(url)}"
    )


def newer(name: str, version: int, latest: int, *, verb: str = "used") -> UsageError:
    """Return the refusal of a store that a newer Dragoman has upgraded; see ``older``."""
    return UsageError(
        f"{name} was written by a newer Dragoman (schema {version}, this one knows {latest}) and "
        f"cannot be {verb} by this one; upgrade Dragoman or use another --store"
    )
