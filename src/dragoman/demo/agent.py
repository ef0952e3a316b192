"""The demo agent, made of its scenarios: the first word of a message, or a skill id, names one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

import dragoman
from dragoman.agent.agent import Agent
from dragoman.demo.scenarios import REFUSALS, SCENARIOS, mirror, refuse
from dragoman.model.cards import AgentExtension
from dragoman.model.messages import Message

__all__ = ("Setup", "demo_agent")


class Setup(Struct, frozen=True, kw_only=True):
    """What can be said about the demo agent beside its scenarios.

    Attributes:
        streaming: whether its card declares streaming.
        tenants: served beside the default one.
        required_extensions: what every caller must declare.
    """

    name: str = "Demo"
    description: str = "Plays scripted scenarios to try clients on; the first word names one."
    streaming: bool = True
    tenants: tuple[str, ...] = ()
    required_extensions: tuple[str, ...] = ()


def demo_agent(setup: Setup) -> Agent:
    """Make the demo agent.

    Raises:
        UsageError: a tenant has a name that cannot be one.
    """
    agent = Agent(
        setup.name,
        setup.description,
        version=dragoman.__version__,
        tenants=setup.tenants,
        extensions=[AgentExtension(uri=uri, required=True) for uri in setup.required_extensions],
        streaming=setup.streaming,
    )
    for word, scenario in SCENARIOS.items():
        modes = ["*/*"] if scenario is mirror else None
        agent.skill(input_modes=modes, tags=["scenario"], examples=[f"{word} something"])(scenario)

    @agent.route
    def choose(message: Message) -> Callable[..., object]:
        """Go by the first word; what names no scenario is given back."""
        word, _, rest = (message.parts[0].text or "").strip().partition(" ")
        make_error = REFUSALS.get(rest.strip()) if word == refuse.__name__ else None
        if make_error is not None:
            # Here, before there is a task: that is when a real agent says so.
            raise make_error()
        return SCENARIOS.get(word, mirror)

    return agent
