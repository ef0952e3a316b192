"""The stores that are held against the contract of those which several replicas share.

A store joins by a line in ``SHARED_STORES``: a name, and a function that gets records ready, to be
gone with the given resources, and returns what makes unopened stores on them.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from dragoman.stores.base import SharedTaskStore
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.support.postgres import new_database

__all__ = ("SHARED_STORES",)


async def _in_memory(resources: AsyncExitStack) -> Callable[[], SharedTaskStore]:
    del resources
    first = SharedMemoryTaskStore()
    return first.beside


async def _in_postgres(resources: AsyncExitStack) -> Callable[[], SharedTaskStore]:
    del resources
    return partial(PostgresTaskStore, new_database())


SHARED_STORES: Final[
    dict[str, Callable[[AsyncExitStack], Awaitable[Callable[[], SharedTaskStore]]]]
] = {"shared memory": _in_memory, "postgres": _in_postgres}
