import asyncio

from dragoman import Agent, Context
from dragoman.model.messages import text_of
from dragoman.testing import pair


def make_agent(gate: asyncio.Event) -> Agent:
    agent = Agent("Memory", "Remembers.")

    @agent.skill
    async def recite(ctx: Context, text: str) -> list[str]:
        del text
        return [text_of(message.parts) for message in await ctx.conversation()]

    @agent.skill
    async def wait(ctx: Context, text: str) -> str:
        return await ctx.ask(f"{text}?")

    @agent.skill
    async def work(text: str) -> str:
        await gate.wait()
        return text

    @agent.skill
    async def late(ctx: Context, text: str) -> list[str]:
        await gate.wait()
        return [text, *(text_of(message.parts) for message in await ctx.conversation())]

    return agent


async def test_a_task_that_waits_is_seen_and_one_at_work_is_not() -> None:
    gate = asyncio.Event()
    async with pair(make_agent(gate)) as client:
        first = await client.send("one", skill="wait")
        context = first.context_id
        async with client.stream("two", skill="work", context_id=context) as working:
            await anext(aiter(working))
            seen = await client.send("tell", skill="recite", context_id=context)
            assert seen.data == ["one", "one?"]
            gate.set()


async def test_a_task_that_began_later_is_not_seen() -> None:
    gate = asyncio.Event()
    async with pair(make_agent(gate)) as client:
        async with client.stream("first", skill="late") as working:
            begun = await anext(aiter(working))
            # Tasks are told apart by the millisecond in which they began.
            await asyncio.sleep(0.01)
            assert begun.value.task is not None
            context = begun.value.task.context_id
            await client.send("later", skill="recite", context_id=context)
            gate.set()
            async for _ in working:
                pass
        assert working.reply.data == ["first"]
