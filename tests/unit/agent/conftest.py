"""Agents that several tests look at."""

import pytest

from dragoman import Agent, Reply


@pytest.fixture
def agent() -> Agent:
    agent = Agent("Weather", "Knows the weather.")

    @agent.skill
    async def forecast(city: str) -> str:
        """Tell the weather.

        At length.
        """
        return f"Sunny in {city}"

    @agent.skill(id="convert", tags=["units"], examples=["21 degrees"])
    async def to_fahrenheit(celsius: float) -> float:
        return celsius * 9 / 5 + 32

    @agent.skill
    async def hello(name: str) -> Reply:
        return Reply(f"Hello {name}")

    return agent


@pytest.fixture
def guarded() -> Agent:
    agent = Agent("Bank")

    @agent.skill(hidden=True, scopes=["audit"])
    async def books(year: int) -> str:
        return str(year)

    @agent.skill
    async def rates(text: str) -> str:
        return text

    @agent.skill(scopes=["pay", "sign"])
    async def transfer(amount: int) -> str:
        return str(amount)

    return agent
