import pytest

from dragoman.conformance.answers import Answer, Refusal
from dragoman.conformance.bench import FailedError, SkippedError
from tests.support.conformance.scripted import ScriptedInterface, bench_with, refused, task


async def test_a_send_is_looked_at_and_its_task_is_put_away() -> None:
    interface = ScriptedInterface(SendMessage=Answer(result={"task": task("WORKING")}))
    bench = bench_with(interface)
    assert await bench.start() == "t-1"
    operation, params = interface.asked[0]
    assert operation == "SendMessage"
    assert params["configuration"] == {"returnImmediately": True}
    bench.remember_config("t-1", "p-1")
    await bench.tidy()
    assert interface.asked[1:] == [
        ("DeleteTaskPushNotificationConfig", {"taskId": "t-1", "id": "p-1"}),
        ("CancelTask", {"id": "t-1"}),
    ]
    await bench.tidy()
    assert len(interface.asked) == 3


async def test_a_task_that_has_ended_is_left_alone() -> None:
    interface = ScriptedInterface(SendMessage=Answer(result={"task": task("WORKING")}))
    bench = bench_with(interface)
    await bench.send()
    bench.remember({"statusUpdate": {"taskId": "t-1", "status": {"state": "TASK_STATE_COMPLETED"}}})
    await bench.tidy()
    assert [operation for operation, _ in interface.asked] == ["SendMessage"]


async def test_without_a_task_there_is_nothing_to_start() -> None:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}
    bench = bench_with(ScriptedInterface(SendMessage=Answer(result={"message": message})))
    with pytest.raises(SkippedError, match="has no task to look at"):
        await bench.start()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (refused("InternalError"), "it is refused with InternalError (-32603: No.)"),
        (Answer(result={}, faults=("torn",)), "torn"),
        (Answer(result={}), "/id: is missing; /status: is missing"),
    ],
)
async def test_what_is_no_result_fails(answer: Answer, told: str) -> None:
    bench = bench_with(ScriptedInterface(GetTask=answer))
    with pytest.raises(FailedError) as caught:
        await bench.result("GetTask", {"id": "t"}, "Task")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(result={}), "it is not refused, instead of TaskNotFoundError"),
        (Answer(faults=("torn",)), "torn, instead of TaskNotFoundError"),
        (
            refused("InternalError"),
            "it is refused with InternalError (-32603: No.), instead of TaskNotFoundError",
        ),
        (
            Answer(
                refusal=Refusal(name="TaskNotFoundError", code=-32001, message="No."),
                faults=("torn",),
            ),
            "torn",
        ),
    ],
)
async def test_what_is_no_such_refusal_fails(answer: Answer, told: str) -> None:
    bench = bench_with(ScriptedInterface(GetTask=answer))
    with pytest.raises(FailedError) as caught:
        await bench.refused("GetTask", {"id": "t"}, "TaskNotFoundError")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("binding", "code", "name", "is_taken"),
    [
        # An error that is not A2A's own needs no name of its own.
        ("HTTP+JSON", 400, "InvalidParamsError", True),
        ("GRPC", 3, "InvalidParamsError", True),
        ("GRPC", 13, "InvalidParamsError", False),
        # One of A2A's is known by its name alone.
        ("HTTP+JSON", 404, "TaskNotFoundError", False),
    ],
)
async def test_a_refusal_without_a_name_may_do(
    binding: str, code: int, name: str, *, is_taken: bool
) -> None:
    answer = Answer(refusal=Refusal(name="", code=code, message="No."))
    bench = bench_with(ScriptedInterface(binding))
    if is_taken:
        bench.judged_refusal(answer, name)
    else:
        with pytest.raises(FailedError):
            bench.judged_refusal(answer, name)


@pytest.mark.parametrize(("binding", "code"), [("HTTP+JSON", 401), ("GRPC", 7)])
async def test_who_is_not_let_in_cannot_judge(binding: str, code: int) -> None:
    answer = Answer(refusal=Refusal(name="", code=code, message="Who?"))
    bench = bench_with(ScriptedInterface(binding, GetTask=answer))
    with pytest.raises(SkippedError, match="wants other credentials"):
        await bench.result("GetTask", {}, "Task")


async def test_a_stream_that_says_nothing_is_no_refusal() -> None:
    bench = bench_with(ScriptedInterface(SubscribeToTask=[]))
    with pytest.raises(FailedError, match="without a word"):
        await bench.stream_refused("SubscribeToTask", {}, "TaskNotFoundError")


async def test_only_a_task_that_has_ended_has_ended() -> None:
    bench = bench_with(ScriptedInterface())
    with pytest.raises(SkippedError):
        bench.ended_task()
    bench.settled = task("INPUT_REQUIRED")
    with pytest.raises(SkippedError, match="waits for an answer"):
        bench.ended_task()
    bench.settled = task()
    assert bench.ended_task() == task()
