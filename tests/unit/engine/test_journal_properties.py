"""Whatever a function does and wherever it is cut off: run again, it comes to the same end."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.commands import AddArtifact, Say
from dragoman.engine.journal import Replay
from tests.support.engine.replaying import (
    BEGINNING,
    Call,
    Chunk,
    Ids,
    Op,
    Speak,
    World,
    play,
    scripts,
)


def uncut(script: Sequence[Op], before: Sequence[Op] = ()) -> World:
    world = begun(before)
    play(script, world)
    return world


def begun(before: Sequence[Op] = ()) -> World:
    """Return a task at the beginning of a turn, after an earlier one if that did anything."""
    world = World()
    if before:
        play(before, world)
        world.next_turn()
    world.published.clear()
    return world


def crash(world: World, data: st.DataObject, start: int) -> Replay:
    """Cut a task off somewhere in its turn."""
    return world.crash(data.draw(st.integers(start, len(world.timeline)), label="cut"))


@given(scripts(), scripts(max_size=4), st.data())
def test_a_turn_that_was_cut_off_comes_to_the_end_it_would_have_come_to(
    script: Sequence[Op], before: Sequence[Op], data: st.DataObject
) -> None:
    whole = uncut(script, before)
    world = begun(before)
    start = len(world.timeline)
    play(script, world)
    for _ in range(data.draw(st.integers(1, 3), label="crashes")):
        play(script, world, crash(world, data, start))
    assert world.contents() == whole.contents()
    assert world.said() == whole.said()
    assert [(e.kind, e.name) for e in world.journal] == [(e.kind, e.name) for e in whole.journal]


@given(scripts(), st.data())
def test_it_says_what_is_missing_and_nothing_else(
    script: Sequence[Op], data: st.DataObject
) -> None:
    world = uncut(script)
    whole = world.said()
    replay = crash(world, data, BEGINNING + 1)
    missing = whole[len(world.said()) :]
    play(script, world, replay)
    published = [c.message.message_id for c in world.published if isinstance(c, Say) and c.message]
    assert published == missing


@given(scripts())
def test_of_a_turn_that_got_to_its_last_result_nothing_comes_again(
    script: Sequence[Op],
) -> None:
    world = uncut([*script, Call("the last")])
    play([*script, Call("the last")], world, world.crash(len(world.timeline)))
    assert world.published == []


def in_other_words(script: Sequence[Op]) -> list[Op]:
    """What a language model makes of the same instructions the next time."""
    changed: list[Op] = []
    for op in script:
        match op:
            case Speak(text):
                changed.append(Speak(text.upper()))
            case Chunk(key, text, append, last, is_named):
                changed.append(Chunk(key, text.upper(), append, last, is_named))
            case Call():
                changed.append(op)
    return changed


@given(scripts(), scripts(), st.data())
def test_what_was_published_before_the_last_result_stands_whatever_is_said_this_time(
    script: Sequence[Op], rest: Sequence[Op], data: st.DataObject
) -> None:
    whole = [*script, Call("the last"), *rest]
    kept = uncut([*script, Call("the last")])
    world = uncut(whole)
    replay = crash(world, data, len(kept.timeline))
    play([*in_other_words(script), Call("the last")], world, replay)
    assert world.published == []
    # And what comes after it continues that, not the other words.
    play_on = world.crash(len(kept.timeline))
    play([*in_other_words(script), Call("the last"), *rest], world, play_on)
    assert world.said() == uncut(whole).said()
    assert world.contents() == uncut(whole).contents()


emits = st.lists(
    st.builds(Speak, st.text(max_size=2)) | st.builds(Chunk, st.integers(3, 5), st.just("x")),
    max_size=3,
)


@given(scripts(), emits, scripts(max_size=6))
def test_more_or_less_output_before_the_last_result_does_no_harm(
    script: Sequence[Op], more: Sequence[Op], rest: Sequence[Op]
) -> None:
    world = uncut([*script, Call("the last")])
    before = world.said()
    calls = [op for op in script if isinstance(op, Call)]
    other = [*more, *calls, *more, Call("the last")]
    rest = [op for op in rest if not isinstance(op, Chunk) or not op.is_named]
    play([*other, *rest], world, world.crash(len(world.timeline)))
    said = [op.text for op in rest if isinstance(op, Speak)]
    assert world.said() == [*before, *said]
    # No chunk of the rest is missing, whichever artifact it went to.
    chunks = [op.text for op in rest if isinstance(op, Chunk)]
    texts = [c.artifact.parts[-1].text for c in world.published if isinstance(c, AddArtifact)]
    assert [text for text in texts if text in chunks] == chunks


def of_branch(branch: str, script: Sequence[Op]) -> list[Op]:
    """Return a script whose words and names are not those of another branch."""
    changed: list[Op] = []
    for op in script:
        match op:
            case Speak(text):
                changed.append(Speak(f"{branch} {text}"))
            case Chunk(key, text, append, last, is_named):
                key += 10 * int(branch[-1])
                changed.append(Chunk(key, f"{branch} {text}", append, last, is_named))
            case Call():
                changed.append(op)
    return changed


def play_beside(
    scripts: dict[str, list[Op]], world: World, data: st.DataObject, replay: Replay | None = None
) -> None:
    """Run the branches of a function side by side, in an order that is drawn."""
    places = [branch for branch, script in scripts.items() for _ in script]
    left = {branch: iter(script) for branch, script in scripts.items()}
    ids: dict[str, Ids] = {branch: {} for branch in scripts}
    for branch in data.draw(st.permutations(places), label="order"):
        play([next(left[branch])], world, replay, branch=branch, ids=ids[branch])


@given(scripts(), scripts(), st.data())
def test_branches_come_to_the_same_end_in_whatever_order_they_get_on(
    one: Sequence[Op], two: Sequence[Op], data: st.DataObject
) -> None:
    branches = {"1.0": of_branch("1.0", one), "1.1": of_branch("1.1", two)}
    world = World()
    start = len(world.timeline)
    play_beside(branches, world, data)
    for _ in range(data.draw(st.integers(1, 3), label="crashes")):
        play_beside(branches, world, data, crash(world, data, start))
    for branch, script in branches.items():
        said = [text for text in world.said() if text.startswith(branch)]
        assert said == [op.text for op in script if isinstance(op, Speak)]
        assert sorted(text for text in world.contents() if text.startswith(branch)) == sorted(
            uncut(script).contents()
        )
