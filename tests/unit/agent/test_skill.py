import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

from dragoman.agent.context import Context
from dragoman.agent.results import File, Rejected, Reply
from dragoman.agent.skill import Shape, Skill, shape_of
from dragoman.agent.sync_context import SyncContext, Threads
from dragoman.errors import InvalidAgentResponseError, InvalidParamsError, UsageError
from dragoman.model.cards import AgentSkill
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.service.worker import Completed, Failed, Plan, Refused
from dragoman.testing.turn import RecordingTurn, user_message

PUBLISHED = AgentSkill(id="f", name="F", description="f", tags=("f",))


@dataclass
class Point:
    x: int


@pytest.fixture
def make() -> Iterator[Callable[[Callable[..., object]], Skill]]:
    threads = Threads(2)
    yield lambda function: Skill(function, PUBLISHED, threads=threads, on_cancel=None)
    threads.shutdown()


Make = Callable[[Callable[..., object]], Skill]


def parts(turn: RecordingTurn) -> list[Part]:
    return [part for chunk in turn.chunks for part in chunk.artifact.parts]


def text_of(message: Message | None) -> str | None:
    assert message is not None
    return message.parts[0].text


# --- shapes --------------------------------------------------------------------------------------


async def coroutine() -> None: ...
def function() -> None: ...


async def async_generator() -> AsyncIterator[str]:
    yield ""


def generator() -> Iterator[str]:
    yield ""


class Called:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("target", "shape"),
    [
        (coroutine, Shape.COROUTINE),
        (async_generator, Shape.ASYNC_GENERATOR),
        (function, Shape.FUNCTION),
        (generator, Shape.GENERATOR),
        (Called(), Shape.COROUTINE),
    ],
)
def test_the_shape_of_a_function_is_seen(target: Callable[..., object], shape: Shape) -> None:
    assert shape_of(target) is shape


# --- what callers see: DESIGN, section 2 ---------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("text", Part(text="text")),
        (b"x", Part(raw=b"x", media_type="application/octet-stream")),
        (File(content=b"x", name="a"), Part(raw=b"x", filename="a")),
        (Point(1), Part(data={"x": 1})),
        ({"a": 1}, Part(data={"a": 1})),
        ([1], Part(data=[1])),
    ],
)
async def test_a_returned_value_is_an_artifact(make: Make, value: object, part: Part) -> None:
    async def f(text: str) -> object:
        return value

    def g(text: str) -> object:
        return value

    for each in (f, g):
        turn = RecordingTurn("hi")
        assert await make(each).run(turn) == Completed()
        assert parts(turn) == [part]


async def test_async_yields_are_chunks_of_one_artifact(make: Make) -> None:
    async def f(text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    turn = RecordingTurn("a b")
    assert await make(f).run(turn) == Completed()
    assert [part.text for part in parts(turn)] == ["a", "b"]
    assert [chunk.append for chunk in turn.chunks] == [False, True]
    assert [chunk.last_chunk for chunk in turn.chunks] == [False, True]


async def test_plain_yields_are_chunks_of_one_artifact(make: Make) -> None:
    idents: set[int] = set()

    def f(text: str) -> Iterator[str]:
        for word in text.split():
            idents.add(threading.get_ident())
            yield word

    turn = RecordingTurn("a b")
    assert await make(f).run(turn) == Completed()
    assert [part.text for part in parts(turn)] == ["a", "b"]
    assert threading.get_ident() not in idents


async def test_data_may_be_streamed_too(make: Make) -> None:
    async def f(text: str) -> AsyncIterator[Point]:
        yield Point(1)
        yield Point(2)

    turn = RecordingTurn("go")
    await make(f).run(turn)
    assert parts(turn) == [Part(data={"x": 1}), Part(data={"x": 2})]


async def test_a_chunk_is_out_before_the_next_is_made(make: Make) -> None:
    seen: list[int] = []
    turn = RecordingTurn("go")

    async def f(text: str) -> AsyncIterator[str]:
        for n in range(3):
            seen.append(len(turn.chunks))
            yield str(n)

    await make(f).run(turn)
    assert seen == [0, 1, 2]


async def test_a_generator_without_items_has_no_artifact(make: Make) -> None:
    async def f(text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    turn = RecordingTurn("")
    assert await make(f).run(turn) == Completed()
    assert turn.chunks == []


async def test_annotated_reply_answers_without_a_task(make: Make) -> None:
    async def f(text: str) -> Reply:
        return Reply(text.upper())

    skill = make(f)
    assert skill.plan == Plan(skill_id="f", is_direct=True)
    message = await skill.answer(user_message("hi"), "c-1", lambda: "m-1")
    assert (message.message_id, message.context_id, message.task_id) == ("m-1", "c-1", "")
    assert message.parts == (Part(text="HI"),)


async def test_a_plain_function_may_answer_directly(make: Make) -> None:
    def f(text: str) -> Reply | None:
        return Reply(str(threading.get_ident()))

    skill = make(f)
    assert skill.plan.is_direct
    message = await skill.answer(user_message("hi"), "", lambda: "m-1")
    assert text_of(message) != str(threading.get_ident())


async def test_a_rejection_without_a_task_is_the_answer(make: Make) -> None:
    async def f(text: str) -> Reply:
        raise Rejected("No.")

    assert text_of(await make(f).answer(user_message("hi"), "", lambda: "m")) == "No."


async def test_a_direct_skill_that_gives_no_reply_broke_its_word(make: Make) -> None:
    async def f(text: str) -> Reply | None:
        return None

    with pytest.raises(InvalidAgentResponseError):
        await make(f).answer(user_message("hi"), "", lambda: "m")


async def test_a_reply_elsewhere_is_the_final_status_message(make: Make) -> None:
    async def f(text: str) -> Reply | str:
        return Reply("done")

    skill = make(f)
    assert not skill.plan.is_direct
    outcome = await skill.run(RecordingTurn("hi"))
    assert isinstance(outcome, Completed)
    assert text_of(outcome.message) == "done"


async def test_a_coroutine_converses_through_its_context(make: Make) -> None:
    async def f(subject: str, ctx: Context) -> str:
        await ctx.say("thinking")
        count = await ctx.ask("How many?", int)
        await ctx.artifact("extra", name="extra")
        return subject * count

    turn = RecordingTurn("ab", answers=["2"])
    assert await make(f).run(turn) == Completed()
    assert [text_of(message) for message in turn.said] == ["thinking"]
    assert [part.text for part in parts(turn)] == ["extra", "abab"]


async def test_a_plain_function_converses_through_its_context(make: Make) -> None:
    def f(subject: str, ctx: SyncContext) -> str:
        ctx.say("thinking")
        count = ctx.ask("How many?", int)
        artifact_id = ctx.artifact("extra")
        ctx.require_auth("Sign in", details={"a": 1})
        return f"{subject * count} {artifact_id} {ctx.ask('Sure?')} {ctx.user}"

    turn = RecordingTurn("ab", answers=["two", "2", "signed", "yes"], owner="ada")
    assert await make(f).run(turn) == Completed()
    assert [text_of(message) for message in turn.said] == ["thinking"]
    assert (parts(turn)[-1].text or "").startswith("abab id-")
    assert (parts(turn)[-1].text or "").endswith("yes ada")
    assert len(turn.auth_asked) == 1


async def test_a_plain_generator_converses_between_its_chunks(make: Make) -> None:
    def f(ctx: SyncContext) -> Iterator[str]:
        yield "a"
        yield ctx.ask("More?")

    turn = RecordingTurn("go", answers=["b"])
    await make(f).run(turn)
    assert [part.text for part in parts(turn)] == ["a", "b"]


async def test_an_unannotated_ctx_is_the_context_that_fits(make: Make) -> None:
    seen: list[type] = []

    async def f(ctx: object) -> None:
        seen.append(type(ctx))

    def g(ctx: object) -> None:
        seen.append(type(ctx))

    for each in (f, g):
        del each.__annotations__["ctx"]
        await make(each).run(RecordingTurn("hi"))
    assert seen == [Context, SyncContext]


@pytest.mark.parametrize("is_async", [True, False])
async def test_rejected_refuses_the_task_with_its_text(make: Make, *, is_async: bool) -> None:
    async def f(text: str) -> str:
        raise Rejected("Not today.")

    def g(text: str) -> str:
        raise Rejected("Not today.")

    outcome = await make(f if is_async else g).run(RecordingTurn("hi"))
    assert isinstance(outcome, Refused)
    assert text_of(outcome.message) == "Not today."


async def test_rejected_without_words_refuses_without_a_message(make: Make) -> None:
    async def f(text: str) -> str:
        raise Rejected

    assert await make(f).run(RecordingTurn("hi")) == Refused()


async def test_rejected_in_a_generator_refuses_the_task(make: Make) -> None:
    async def f(text: str) -> AsyncIterator[str]:
        yield "a"
        raise Rejected("No.")

    def g(text: str) -> Iterator[str]:
        yield "a"
        raise Rejected("No.")

    for each in (f, g):
        turn = RecordingTurn("hi")
        assert isinstance(await make(each).run(turn), Refused)
        assert [part.text for part in parts(turn)] == ["a"], "what is incomplete is not closed"


async def test_any_other_exception_comes_through(make: Make) -> None:
    async def f(text: str) -> str:
        raise ZeroDivisionError

    async def g(text: str) -> AsyncIterator[str]:
        yield "a"
        raise ZeroDivisionError

    def h(text: str) -> str:
        raise ZeroDivisionError

    for each in (f, g, h):
        with pytest.raises(ZeroDivisionError):
            await make(each).run(RecordingTurn("hi"))


async def test_an_author_who_raises_invalid_params_is_not_taken_for_us(make: Make) -> None:
    async def f(text: str) -> str:
        raise InvalidParamsError("author's own")

    with pytest.raises(InvalidParamsError):
        await make(f).run(RecordingTurn("hi"))


async def test_a_later_message_that_does_not_fit_fails_with_the_reason(make: Make) -> None:
    async def f(celsius: float) -> str:
        return ""

    outcome = await make(f).run(RecordingTurn("warm"))
    assert isinstance(outcome, Failed)
    assert "celsius" in (text_of(outcome.message) or "")


async def test_keyword_only_parameters_are_passed_by_name(make: Make) -> None:
    async def f(text: str, *, count: int = 2, ctx: Context) -> str:
        return text * count + ctx.task_id

    turn = RecordingTurn("a")
    await make(f).run(turn)
    assert parts(turn) == [Part(text="aatask-1")]


async def test_an_async_generator_is_closed_when_the_turn_is_canceled(make: Make) -> None:
    started, closed = asyncio.Event(), asyncio.Event()

    async def f(text: str) -> AsyncIterator[str]:
        try:
            yield "a"
            started.set()
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(make(f).run(RecordingTurn("hi")))
        await started.wait()
        turn.cancel()
    assert closed.is_set()


# --- what is published, and what cannot be a skill -----------------------------------------------


def test_modes_are_derived_unless_given(make: Make) -> None:
    async def f(text: str, count: int) -> Point:
        return Point(count)

    assert make(f).published.input_modes == ("text/plain", "application/json")
    assert make(f).published.output_modes == ("application/json",)
    given = AgentSkill(
        id="f",
        name="F",
        description="f",
        tags=(),
        examples=("do it",),
        input_modes=("a/b",),
        output_modes=("c/d",),
    )
    published = Skill(f, given, threads=Threads(1), on_cancel=None).published
    assert published == given


def test_a_generator_cannot_answer_directly(make: Make) -> None:
    async def f(text: str) -> AsyncIterator[Reply]:
        yield Reply("x")

    f.__annotations__["return"] = Reply
    with pytest.raises(UsageError, match="a generator cannot be annotated -> Reply"):
        make(f)


def test_a_direct_answer_has_no_context(make: Make) -> None:
    async def f(text: str, ctx: Context) -> Reply:
        return Reply(text)

    with pytest.raises(UsageError, match="cannot take a context"):
        make(f)


def test_a_refused_function_is_named(make: Make) -> None:
    async def f(thing: Awaitable[int]) -> None: ...

    with pytest.raises(UsageError, match=r"skill f \(.*<locals>\.f\): parameter thing"):
        make(f)
