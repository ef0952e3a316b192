import asyncio
from collections.abc import AsyncGenerator

from dragoman.conformance.answers import Answer
from dragoman.conformance.bench import Bench
from dragoman.conformance.checks import Finding
from dragoman.conformance.interface import Params
from dragoman.conformance.lines import NoAnswerError
from dragoman.conformance.runner import CHECKS, run_checks
from tests.support.conformance.scripted import ScriptedInterface, bench_with, refused, task


async def findings(bench: Bench, limit_seconds: float = 5) -> dict[str, Finding]:
    return {finding.id: finding async for finding in run_checks(bench, limit_seconds=limit_seconds)}


async def test_checks_that_do_not_apply_are_left_out() -> None:
    found = await findings(bench_with(ScriptedInterface(), streaming=True))
    assert {"stream.send", "push.undeclared", "extended-card.undeclared"} <= found.keys()
    assert not {"stream.undeclared", "push.round-trip", "extended-card.get"} & found.keys()
    assert list(found) == [check.id for check in CHECKS if check.id in found]


async def test_an_older_version_has_fewer_checks_and_no_requirements() -> None:
    found = await findings(bench_with(ScriptedInterface(version="0.3")))
    assert "list.tasks" not in found
    assert "get.unknown-task" in found
    assert {finding.requirement for finding in found.values()} == {""}


async def test_where_nobody_answers_nothing_else_is_tried() -> None:
    def silent(_: Params) -> Answer:
        raise NoAnswerError("nobody there")

    interface = ScriptedInterface(GetTask=silent)
    found = await findings(bench_with(interface))
    assert [(each.id, each.status, each.found) for each in found.values()] == [
        ("interface.answers", "fail", "nobody there")
    ]
    assert len(interface.asked) == 1


class Endless(ScriptedInterface):
    """Streams that never say anything."""

    async def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        self.asked.append((operation, params))
        await asyncio.Event().wait()
        yield Answer()


async def test_a_check_ends_when_its_time_is_over() -> None:
    found = await findings(bench_with(Endless(), streaming=True), limit_seconds=0.02)
    assert found["stream.send"].status == "fail"
    assert found["stream.send"].found == "there is no end of it after 0.02 s"
    # The others are run all the same.
    assert found["get.unknown-task"].status == "pass"


async def test_what_was_made_is_put_away_even_if_the_run_is_broken_off() -> None:
    interface = ScriptedInterface(SendMessage=Answer(result={"task": task("WORKING")}))
    run = run_checks(bench_with(interface), limit_seconds=5)
    async for finding in run:
        if finding.id == "send.answer":
            break
    await run.aclose()
    assert interface.asked[-1] == ("CancelTask", {"id": "t-1"})


async def test_a_finding_says_what_was_expected_and_what_came() -> None:
    interface = ScriptedInterface(GetTask=refused("InternalError"))
    found = (await findings(bench_with(interface)))["get.unknown-task"]
    assert (found.level, found.requirement, found.binding) == ("MUST", "R-3.1.3-2", "JSONRPC")
    assert found.expected == "looking at an unknown task fails with TaskNotFoundError"
    assert found.found.endswith("instead of TaskNotFoundError")
