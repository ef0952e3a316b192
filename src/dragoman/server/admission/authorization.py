"""Access: whether a caller who is known may do what it asks for.

What a caller reaches is settled by the store: every record is looked up by tenant and owner, so
there is nothing to decide about a record of somebody else. Two functions of the agent's come on top
of that. One says whose records a caller works in, which are its own unless it says otherwise; the
other, asked after it, only ever restricts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import PermissionDeniedError
from dragoman.model.operations import Operation
from dragoman.service.principal import Principal
from dragoman.service.service import Call

__all__ = ("Access", "AccessRequest", "Policy", "Sharing")


class AccessRequest(Struct, frozen=True, kw_only=True, gc=False):
    """What somebody wants to do.

    Attributes:
        principal: who.
        operation: what; a send and the stream of one are two operations.
        tenant: where; "" for the default tenant.
        skill_id: the skill that a message is for, or that the task in question was begun with; ""
            for an operation that is about no single task. Sharing is decided before it is known.
        owner: in whose records: the caller's name, or the one that sharing has put in its place.
    """

    principal: Principal
    operation: Operation
    tenant: str = ""
    skill_id: str = ""
    owner: str = ""


Policy: TypeAlias = Callable[[AccessRequest], bool | Awaitable[bool]]
"""Allows with True; anything else refuses. An A2AError it raises is told to the caller as it is."""

Sharing: TypeAlias = Callable[[AccessRequest], str | Awaitable[str | None] | None]
"""Returns the owner in whose records a caller works, None for itself."""


class Access:
    """Asks the agent; if it says nothing, callers may do all with what they own, and no more.

    Attributes:
        is_restricted: whether there is a policy to ask.
        is_shared: whether somebody may work in the records of another.
    """

    def __init__(self, policy: Policy | None = None, sharing: Sharing | None = None) -> None:
        self.is_restricted: Final = policy is not None
        self.is_shared: Final = sharing is not None
        self._policy = policy
        self._sharing = sharing

    async def check(self, operation: Operation, call: Call, skill_id: str = "") -> None:
        """Raise PermissionDeniedError unless the policy allows it."""
        if not await self.allows(operation, call, skill_id):
            raise PermissionDeniedError

    async def allows(self, operation: Operation, call: Call, skill_id: str = "") -> bool:
        """Tell whether the policy allows it."""
        if self._policy is None:
            return True
        verdict = self._policy(_request(operation, call, skill_id))
        if isinstance(verdict, Awaitable):
            verdict = await verdict
        # A policy that forgets to answer has not allowed anything.
        return verdict is True

    async def shared(self, operation: Operation, call: Call) -> Call:
        """Return the call as one in the records of whoever shares them with the caller."""
        if self._sharing is None:
            return call
        owner = self._sharing(_request(operation, call))
        if isinstance(owner, Awaitable):
            owner = await owner
        return replace(call, on_behalf_of=owner) if owner else call


def _request(operation: Operation, call: Call, skill_id: str = "") -> AccessRequest:
    return AccessRequest(
        principal=call.principal,
        operation=operation,
        tenant=call.tenant,
        skill_id=skill_id,
        owner=call.owner,
    )
