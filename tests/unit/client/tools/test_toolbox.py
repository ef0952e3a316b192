import asyncio
import threading

from dragoman.client.tools.tool import Tool
from dragoman.client.tools.toolbox import Approve, Toolbox
from dragoman.extensions.agent_tools.declarations import declared_in
from dragoman.extensions.agent_tools.exchange import ToolResult, ToolUse


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def fail() -> None:
    """Fail."""
    raise RuntimeError("out of order")


def odd() -> object:
    """Return what JSON does not have."""
    return object()


TOOLS = tuple(Tool(function) for function in (double, fail, odd))


def use(name: str, **arguments: object) -> ToolUse:
    return ToolUse(tool_use_id=f"u-{name}", name=name, input=arguments)


async def ran(*uses: ToolUse, approve: Approve | None = None) -> list[ToolResult]:
    return list(await Toolbox(TOOLS, approve).run(uses))


def test_the_tools_are_declared() -> None:
    declared = declared_in(Toolbox(TOOLS).metadata)
    assert [tool.name for tool in declared] == ["double", "fail", "odd"]


async def test_results_come_in_the_order_of_what_was_asked_for() -> None:
    first, second = await ran(use("double", number=2), use("double", number=5))
    assert (first.result, second.result) == (4, 10)
    assert not first.has_failed


async def test_whatever_goes_wrong_is_told() -> None:
    results = await ran(use("fail"), use("odd"), use("double", number="x"), use("fly"))
    assert all(result.has_failed for result in results)
    errors = [result.error for result in results]
    assert errors[0] == "RuntimeError: out of order"
    assert errors[1] is not None
    assert "object cannot be sent" in errors[1]
    assert errors[2] is not None
    assert "number must be int" in errors[2]
    assert errors[3] == "There is no tool 'fly'"


async def test_what_is_not_approved_is_not_run() -> None:
    seen: list[ToolUse] = []

    def approve(wanted: ToolUse) -> bool:
        seen.append(wanted)
        return wanted.input == {"number": 2}

    allowed, refused = await ran(use("double", number=2), use("double", number=3), approve=approve)
    assert (allowed.result, refused.error) == (4, "The user does not allow double")
    assert [wanted.name for wanted in seen] == ["double", "double"]


async def test_who_approves_may_take_time() -> None:
    async def slowly(wanted: ToolUse) -> bool:
        await asyncio.sleep(0)
        return wanted.name == "double"

    (allowed,) = await ran(use("double", number=2), approve=slowly)
    assert allowed.result == 4


async def test_a_plain_function_approves_beside_the_loop() -> None:
    threads: list[int] = []

    def approve(_: ToolUse) -> bool:
        threads.append(threading.get_ident())
        return True

    await ran(use("double", number=2), approve=approve)
    assert threads != [threading.get_ident()]


async def test_approval_is_not_asked_for_what_does_not_exist() -> None:
    def approve(_: ToolUse) -> bool:
        raise AssertionError

    (result,) = await ran(use("fly"), approve=approve)
    assert result.error == "There is no tool 'fly'"


async def test_tools_run_side_by_side() -> None:
    both = asyncio.Barrier(2)

    async def meet() -> str:
        """Wait for the other."""
        async with asyncio.timeout(10):
            await both.wait()
        return "met"

    one, two = await Toolbox([Tool(meet)]).run((use("meet"), use("meet")))
    assert (one.result, two.result) == ("met", "met")
