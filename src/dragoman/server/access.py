"""Access: whether a caller who is known may do what it asks for.

What a caller owns is settled by the store: every record is looked up by tenant and owner, so there
is nothing to decide about a record of somebody else. What is decided here comes on top of that and
only ever restricts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from dragoman.errors import PermissionDeniedError
from dragoman.model.operations import Operation
from dragoman.service.principal import Principal
from dragoman.service.service import Call

__all__ = ("Access", "AccessRequest", "Policy")


class AccessRequest(Struct, frozen=True, kw_only=True, gc=False):
    """What somebody wants to do.

    Attributes:
        principal: who.
        operation: what; a send and the stream of one are two operations.
        tenant: where; "" for the default tenant.
        skill_id: the skill that a message is for, or that the task in question was begun with; ""
            for an operation that is about no single task.
    """

    principal: Principal
    operation: Operation
    tenant: str = ""
    skill_id: str = ""


Policy: TypeAlias = Callable[[AccessRequest], bool | Awaitable[bool]]
"""Allows with True; anything else refuses. An A2AError it raises is told to the caller as it is."""


class Access:
    """Asks the agent's policy, if it has one; without one, callers may do all with what they own.

    Attributes:
        is_restricted: whether there is anything to ask.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.is_restricted = policy is not None
        self._policy = policy

    async def check(self, operation: Operation, call: Call, skill_id: str = "") -> None:
        """Raise PermissionDeniedError unless the policy allows it."""
        if not await self.allows(operation, call, skill_id):
            raise PermissionDeniedError

    async def allows(self, operation: Operation, call: Call, skill_id: str = "") -> bool:
        """Tell whether the policy allows it."""
        if self._policy is None:
            return True
        verdict = self._policy(
            AccessRequest(
                principal=call.principal,
                operation=operation,
                tenant=call.tenant,
                skill_id=skill_id,
            )
        )
        if isinstance(verdict, Awaitable):
            verdict = await verdict
        # A policy that forgets to answer has not allowed anything.
        return verdict is True
