"""What a check is, and what comes of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.conformance.bench import Bench
from dragoman.conformance.requirements import REQUIREMENTS

__all__ = ("Check", "Finding", "Status")

Status: TypeAlias = Literal["pass", "fail", "skip"]


class Check(Struct, frozen=True, kw_only=True):
    """One thing to look at.

    Attributes:
        id: a published name, which keeps its meaning.
        requirement: the id in the manifest of 1.0 that it is about.
        expected: what a conforming agent does, in one sentence.
        run: looks; raises FailedError or SkippedError, and otherwise the check has passed.
        capability: the member of the card's capabilities that it is about, "" if it is of none.
        is_declared: it is for agents that declare the capability; otherwise for those that do not.
        is_old: versions before 1.0 have it, too.
    """

    id: str
    requirement: str
    expected: str
    run: Callable[[Bench], Awaitable[None]]
    capability: str = ""
    is_declared: bool = True
    is_old: bool = False

    @property
    def level(self) -> str:
        """Return MUST or SHOULD, as the manifest has it."""
        return REQUIREMENTS[self.requirement].level.removesuffix(" NOT")


class Finding(Struct, frozen=True, kw_only=True):
    """What came of a check.

    Attributes:
        requirement: the id in the manifest of 1.0; "" for an older version.
        binding: "" for what is about the card.
        found: what came instead, or why it was not looked at; "" if all is as expected.
    """

    id: str
    level: str
    requirement: str
    binding: str
    version: str
    status: Status
    expected: str
    found: str = ""

    @property
    def is_must_failure(self) -> bool:
        """Tell whether the agent does not do what it must."""
        return self.status == "fail" and self.level == "MUST"
