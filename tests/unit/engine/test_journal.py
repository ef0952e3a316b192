"""What a turn is given back, what of it stands, and what is made good. See also the properties."""

from collections.abc import Sequence

import pytest

from dragoman.engine.commands import AddArtifact, Say
from dragoman.engine.journal import END, FLOOR, TURN, JournalEntry, Replay
from dragoman.errors import DivergedError, InvalidAgentResponseError
from dragoman.model.messages import text_of
from tests.support.engine.replaying import BEGINNING, Call, Chunk, Op, Speak, World, play


def recorded(*calls: tuple[str, str]) -> Replay:
    """Return the replay of a turn that has made these calls and published nothing."""
    journal = [
        JournalEntry(n=n, kind=kind, name=name, result=b"%d" % n)
        for n, (kind, name) in enumerate(calls, 1)
    ]
    return Replay("t-1", "c-1", journal, ())


def after(script: Sequence[Op], *, cut: int | None = None) -> tuple[World, Replay]:
    """Return a task whose turn was cut off, by default when it had done all of this."""
    world = World()
    play(script, world)
    return world, world.crash(len(world.timeline) if cut is None else cut)


def published(world: World) -> list[tuple[str, bool, bool]]:
    """The text, ``append`` and ``last_chunk`` of every artifact update of the last run."""
    return [
        (text_of(c.artifact.parts), c.append, c.last_chunk)
        for c in world.published
        if isinstance(c, AddArtifact)
    ]


# --- results ----------------------------------------------------------------------------------


def test_results_are_handed_back_in_their_order_and_once() -> None:
    replay = recorded(("step", "pay"), ("ask", "input"))
    assert not replay.is_over_in("")
    assert replay.recall("step", "pay") == b"1"
    assert replay.recall("ask", "input") == b"2"
    assert replay.is_over_in("")
    assert replay.recall("step", "pay") is None


def test_each_branch_has_an_order_of_its_own() -> None:
    replay = recorded(("step", "pay"), ("step@1.0", "a"), ("step@1.1", "b"))
    assert not replay.is_over_in("")
    replay.recall("step", "pay")
    assert replay.is_over_in("")
    assert not replay.is_over_in("1.1")
    assert replay.recall("step", "b", "1.1") == b"3"
    assert replay.is_over_in("1.1")
    assert not replay.is_over_in("1.0")


def test_a_turn_without_results_is_over_at_once() -> None:
    replay = recorded()
    assert replay.is_over_in("")
    assert replay.recall("step", "pay") is None
    assert replay.begun_by is None


def test_a_result_of_nothing_is_a_result() -> None:
    journal = [JournalEntry(n=1, kind="step", name="pay", result=b"")]
    assert Replay("t-1", "c-1", journal, ()).recall("step", "pay") == b""


@pytest.mark.parametrize(
    ("kind", "name", "made"),
    [
        # Another kind of call.
        ("ask", "input", "ask 'input'"),
        # Another name.
        ("step", "refund", "step 'refund'"),
        # Calls that have no name.
        ("now", "", "now"),
        # The right call, but the second one first.
        ("step", "ship", "step 'ship'"),
    ],
)
def test_another_call_in_the_place_of_one_is_refused_and_both_are_named(
    kind: str, name: str, made: str
) -> None:
    replay = recorded(("step", "pay"), ("step", "ship"))
    with pytest.raises(DivergedError) as caught:
        replay.recall(kind, name)
    assert caught.value.message == (
        "The agent's code took another course than before: step 'pay' was recorded here, "
        f"and now it made {made}"
    )
    # The peer is told: it is an error of the agent's.
    assert isinstance(caught.value, InvalidAgentResponseError)


def test_a_call_that_has_no_name_is_named_by_its_kind() -> None:
    with pytest.raises(DivergedError, match="now was recorded here, and now it made step 'pay'"):
        recorded(("now", "")).recall("step", "pay")


def test_who_diverges_is_told_so_again() -> None:
    replay = recorded(("step", "pay"))
    for _ in range(2):
        with pytest.raises(DivergedError):
            replay.recall("step", "refund")
    assert replay.recall("step", "pay") == b"1"


# --- branches ---------------------------------------------------------------------------------


def test_who_has_spoken_is_no_result() -> None:
    world = World()
    play([Speak("one")], world, branch="1.0")
    replay = world.crash(len(world.timeline))
    assert [entry.kind for entry in world.journal] == ["speaker@1.0"]
    assert replay.entries == ()
    assert replay.speaker == "1.0"
    assert replay.recall("step", "pay", "1.0") is None


def test_a_branch_says_what_it_did_not_get_to_say_though_others_have_results_left() -> None:
    world = World()
    play([Call()], world, branch="1.0")
    play([Call(), Speak("theirs"), Call()], world, branch="1.1")
    replay = world.crash(len(world.timeline))
    play([Call(), Speak("ours")], world, replay, branch="1.0")
    play([Call(), Speak("THEIRS"), Call()], world, replay, branch="1.1")
    assert world.said() == ["theirs", "ours"]


def test_what_one_branch_has_said_is_not_taken_for_what_another_says() -> None:
    world = World()
    play([Speak("theirs")], world, branch="1.1")
    replay = world.crash(len(world.timeline))
    play([Speak("ours")], world, replay, branch="1.0")
    play([Speak("THEIRS")], world, replay, branch="1.1")
    play([Speak("of both")], world, replay)
    assert world.said() == ["theirs", "ours", "of both"]


def test_an_artifact_goes_on_in_its_branch_from_the_last_result_of_that() -> None:
    world = World()
    head = [Chunk(0, "a."), Call()]
    play(head, world, branch="1.0")
    play([Chunk(1, "x."), Call()], world, branch="1.1")
    play([Chunk(0, "lost.", append=True)], world, branch="1.0", ids={(0, False): "id-1"})
    replay = world.crash(len(world.timeline))
    play([*head, Chunk(0, "b.", append=True)], world, replay, branch="1.0")
    assert world.contents() == ["a.b.", "x."]


@pytest.mark.parametrize("end", [b"", b"!1", b"~"])
def test_branches_that_had_ended_publish_nothing_more(end: bytes) -> None:
    world = World()
    play([Speak("one")], world, branch="1.0")
    world.note(FLOOR, "1", end)
    replay = world.crash(len(world.timeline))
    play([Speak("ONE"), Speak("more"), Chunk(0, "more.")], world, replay, branch="1.0")
    play([Speak("deep")], world, replay, branch="1.1/1.0")
    play([Speak("another")], world, replay, branch="2.0")
    assert (world.said(), world.contents()) == (["one", "another"], [])


def test_those_one_of_which_has_the_floor_have_not_ended() -> None:
    world = World()
    world.note(FLOOR, "1", b"1.0")
    replay = world.crash(len(world.timeline))
    play([Speak("more")], world, replay, branch="1.0")
    assert world.said() == ["more"]


def test_what_ended_branches_have_added_to_an_artifact_stays_there() -> None:
    world = World()
    head = [Chunk(0, "head.", is_named=True), Call("gather")]
    play(head, world)
    chapter = [Chunk(0, "chapter.", append=True, is_named=True)]
    play(chapter, world, branch="1.0")
    world.note(FLOOR, "1", b"")
    replay = world.crash(len(world.timeline))
    play(head, world, replay)
    play(chapter, world, replay, branch="1.0")
    replay.recall(FLOOR, "1")
    play([Chunk(0, "end.", append=True, is_named=True)], world, replay)
    assert world.contents() == ["head.chapter.end."]


def test_what_one_branch_adds_again_takes_nothing_from_another() -> None:
    world = World()
    play([Chunk(0, "head.", is_named=True), Call("gather")], world)
    one = [Chunk(0, "one.", append=True, is_named=True)]
    two = [Chunk(0, "two.", append=True, is_named=True), Call()]
    play(one, world, branch="1.0")
    play(two, world, branch="1.1")
    replay = world.crash(len(world.timeline))
    play([Chunk(0, "HEAD.", is_named=True), Call("gather")], world, replay)
    play(two, world, replay, branch="1.1")
    play(one, world, replay, branch="1.0")
    assert world.contents() == ["head.two.one."]


# --- further than before ------------------------------------------------------------------------


def test_a_branch_that_got_further_than_before_says_something_new() -> None:
    world, replay = after([Speak("one"), Speak("two"), Chunk(0, "a.", last=True, is_named=True)])
    play([Speak("one"), Call()], world, replay)
    replay.pass_by("")
    play([Speak("three"), Chunk(0, "b.", last=True, is_named=True)], world, replay)
    assert (world.said(), world.contents()) == (["one", "two", "three"], ["b."])


def test_a_turn_that_had_its_last_word_is_done() -> None:
    world, replay = after([Speak("one")])
    assert not replay.is_done
    world.note(END, "")
    assert world.crash(len(world.timeline)).is_done
    world.next_turn()
    assert not world.crash(len(world.timeline)).is_done


def test_an_end_before_all_that_is_recorded_is_another_course() -> None:
    replay = recorded(("step", "pay"), ("step@1.0", "look"))
    with pytest.raises(
        DivergedError, match="step 'pay' was recorded here, and now it made the end"
    ):
        replay.check_end()
    replay.recall("step", "pay")
    # Branches may have been ended early.
    replay.check_end()


def test_entries_are_told_apart_that_are_not_of_the_first_branch() -> None:
    world = World()
    world.next_turn()
    play([Call(), Call()], world)
    play([Call(), Speak("beside")], world, branch="1.0")
    replay = world.crash(len(world.timeline))
    assert (replay.begun_n, replay.beside) == (1, 2)
    assert (replay.results_of(""), replay.results_of("1.0"), replay.results_of("1.1")) == (2, 1, 0)


# --- turns ------------------------------------------------------------------------------------


def test_only_the_results_of_the_last_turn_are_handed_back() -> None:
    journal = [
        JournalEntry(n=1, kind=TURN, name="", result=b"the first"),
        JournalEntry(n=2, kind="step", name="pay", result=b"1"),
        JournalEntry(n=3, kind=TURN, name="", result=b"the second"),
        JournalEntry(n=4, kind="step", name="ship", result=b"2"),
    ]
    replay = Replay("t-1", "c-1", journal, ())
    assert replay.begun_by == b"the second"
    assert replay.recall("step", "ship") == b"2"
    assert replay.is_over_in("")


def test_what_an_earlier_turn_published_is_none_of_this_one() -> None:
    world = World()
    play([Speak("old"), Chunk(0, "old.", last=True)], world)
    world.next_turn()
    replay = world.crash(len(world.timeline))
    play([Speak("new"), Chunk(0, "new.", last=True)], world, replay)
    assert world.said() == ["old", "new"]
    assert world.contents() == ["old.", "new."]


def test_a_turn_may_go_on_with_an_artifact_of_an_earlier_one() -> None:
    world = World()
    play([Chunk(0, "a.", is_named=True)], world)
    world.next_turn()
    more = [Chunk(0, "b.", append=True, is_named=True)]
    play(more, world)
    play(more, world, world.crash(len(world.timeline)))
    assert world.contents() == ["a.b."]


# --- messages ---------------------------------------------------------------------------------


def test_what_was_said_is_not_said_again() -> None:
    script = [Speak("one"), Call(), Speak("two"), Speak("three")]
    world, replay = after(script)
    play([*script, Speak("four")], world, replay)
    assert [c.message.message_id for c in world.published if isinstance(c, Say) and c.message] == [
        "four"
    ]
    assert world.said() == ["one", "two", "three", "four"]


def test_other_words_before_the_last_result_are_not_heard() -> None:
    world, replay = after([Speak("one"), Call(), Speak("two"), Call()])
    play([Speak("ONE"), Call(), Speak("TWO"), Call()], world, replay)
    assert (world.said(), world.published) == (["one", "two"], [])


def test_nor_are_those_after_it_if_as_many_were_said() -> None:
    world, replay = after([Call(), Speak("one")])
    play([Call(), Speak("ONE"), Speak("TWO")], world, replay)
    assert world.said() == ["one", "TWO"]


@pytest.mark.parametrize(
    "before",
    [
        # It says more this time,
        [Speak("a"), Speak("b"), Speak("c")],
        # or less,
        [],
        # or makes something that it had not made.
        [Chunk(7, "new.", last=True)],
    ],
)
def test_more_or_less_before_the_last_result_changes_nothing_after_it(before: list[Op]) -> None:
    world, replay = after([Speak("one"), Call()])
    play([*before, Call(), Speak("two")], world, replay)
    assert (world.said(), world.contents()) == (["one", "two"], [])


def test_questions_and_other_moves_do_not_count_as_said() -> None:
    world = World()
    world.next_turn()
    replay = world.crash(len(world.timeline))
    assert not replay.has_said()


# --- artifacts --------------------------------------------------------------------------------


def test_an_artifact_that_was_complete_stands() -> None:
    world, replay = after([Chunk(0, "a."), Chunk(0, "b.", append=True, last=True)])
    play([Chunk(0, "x."), Chunk(0, "y.", append=True, last=True)], world, replay)
    assert (world.contents(), world.published) == (["a.b."], [])


def test_one_that_was_still_open_is_begun_anew() -> None:
    world, replay = after([Chunk(0, "a."), Chunk(0, "b.", append=True)])
    play([Chunk(0, "x."), Chunk(0, "y.", append=True, last=True)], world, replay)
    assert published(world) == [("x.", False, False), ("y.", True, True)]
    assert world.contents() == ["x.y."]


def test_it_keeps_what_it_had_at_the_last_result() -> None:
    head = [Chunk(0, "a."), Chunk(0, "b.", append=True), Call()]
    world, replay = after([*head, Chunk(0, "lost.", append=True)])
    play([*head, Chunk(0, "c.", append=True), Chunk(0, "d.", append=True)], world, replay)
    assert published(world) == [("a.b.", False, False), ("c.", True, False), ("d.", True, False)]
    assert world.contents() == ["a.b.c.d."]


def test_if_it_had_not_grown_since_it_just_goes_on() -> None:
    head = [Chunk(0, "a."), Call()]
    world, replay = after(head)
    play([*head, Chunk(0, "b.", append=True)], world, replay)
    assert published(world) == [("b.", True, False)]


def test_if_it_is_replaced_nothing_of_it_comes_back() -> None:
    head = [Chunk(0, "a."), Call()]
    world, replay = after([*head, Chunk(0, "lost.", append=True)])
    play([*head, Chunk(0, "b.")], world, replay)
    assert published(world) == [("b.", False, False)]


def test_one_that_is_begun_anew_twice_has_everything_once() -> None:
    script = [Chunk(0, "a."), Call(), Chunk(0, "b.", append=True), Chunk(0, "c.", append=True)]
    world, replay = after(script, cut=BEGINNING + 1 + 3)
    for cut in range(len(world.timeline), len(world.timeline) + 3):
        play(script, world, replay)
        assert world.contents() == ["a.b.c."]
        replay = world.crash(cut)


@pytest.mark.parametrize("is_named", [True, False])
def test_another_version_after_the_last_chunk_is_published(
    is_named: bool,  # noqa: FBT001 - a row of a table
) -> None:
    script = [
        Chunk(0, "draft.", last=True, is_named=is_named),
        Chunk(0, "final.", last=True, is_named=is_named),
    ]
    world, replay = after(script[:1])
    play(script, world, replay)
    assert published(world) == [("final.", False, True)]
    replay = world.crash(len(world.timeline))
    play(script, world, replay)
    assert (world.published, world.contents()) == ([], ["final."])


def test_fresh_ids_are_matched_by_place_and_given_names_by_name() -> None:
    script = [Chunk(0, "a.", last=True), Chunk(1, "b.", last=True, is_named=True), Call()]
    world, replay = after(script)
    names = list(world.fold().artifacts())
    more = [Chunk(0, "a2."), Chunk(1, "b2.", is_named=True)]
    play([*script, *more], world, replay)
    assert list(world.fold().artifacts()) == names
    assert world.contents() == ["a2.", "b2."]


def test_a_chunk_of_something_the_log_does_not_have_begins_it() -> None:
    world, replay = after([Call()])
    play([Chunk(0, "unheard."), Call(), Chunk(0, "heard.", append=True)], world, replay)
    assert published(world) == [("heard.", False, False)]
