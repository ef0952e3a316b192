"""An agent that does not wait for an answer for ever."""

import asyncio

from dragoman import Agent, Context
from tests.support.serving import serving
from tests.support.wire import Wire, message

agent = Agent("Impatient", "Asks, and goes on without an answer.")


@agent.skill
async def ask_twice(ctx: Context) -> str:
    for question in ("Well?", "Really nothing?"):
        try:
            async with asyncio.timeout(0.01):
                return await ctx.ask(question)
        except TimeoutError:
            await ctx.say("Then without.")
    return "gave up"


async def test_a_turn_that_gives_up_waiting_works_on() -> None:
    # One slot: it is free while the question is open, and taken again after that.
    async with serving(agent, max_running_turns=1) as served, Wire(served.url) as wire:
        task = await wire.send("hi")
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        path = f"/tasks/{task['id']}:subscribe"
        async with wire.stream("POST", path, **{"Last-Event-ID": "1"}) as frames:
            states = [frame.state async for frame in frames if frame.state]
    # The first frame is the task as of event 1; then each event once.
    assert [state.removeprefix("TASK_STATE_") for state in states] == [
        "SUBMITTED",
        "WORKING",
        "INPUT_REQUIRED",
        "WORKING",
        "WORKING",
        "INPUT_REQUIRED",
        "WORKING",
        "WORKING",
        "COMPLETED",
    ]


async def test_a_message_after_that_is_not_taken_for_the_answer() -> None:
    gate = asyncio.Event()
    seen: list[str] = []
    patient = Agent("Gated", "Gives up, then waits at a gate.")

    @patient.skill
    async def ask_once(ctx: Context, text: str) -> str:
        seen.append(text)
        if len(seen) == 1:
            try:
                async with asyncio.timeout(0.01):
                    await ctx.ask("Well?")
            except TimeoutError:
                await ctx.say("Then without.")
            await gate.wait()
        return text

    async with serving(patient) as served, Wire(served.url) as wire:
        task = await wire.send("first")
        path = f"/tasks/{task['id']}:subscribe"
        async with wire.stream("POST", path, **{"Last-Event-ID": "1"}) as frames:
            async for frame in frames:
                status = frame.result.get("statusUpdate", {}).get("status", {})
                if "Then without." in str(status.get("message")):
                    break
        late = {"message": message("late", taskId=task["id"])}
        late["configuration"] = {"returnImmediately": True}
        await wire.result("SendMessage", late)
        gate.set()
        async with wire.stream("POST", path, **{"Last-Event-ID": "1"}) as frames:
            assert [frame.state async for frame in frames][-1] == "TASK_STATE_COMPLETED"
    assert seen == ["first", "late"]
