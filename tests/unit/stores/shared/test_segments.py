import pytest

from dragoman.stores.shared.segments import entries_until, number_events

SEGMENT = (b'{"message":1}', b'{"statusUpdate":1}', b'{"message":2}', b'{"artifactUpdate":1}')


def test_messages_have_no_number() -> None:
    assert [(e.seq, e.json) for e in number_events(5, SEGMENT, 0)] == [
        (5, SEGMENT[1]),
        (6, SEGMENT[3]),
    ]


def test_events_up_to_the_cursor_are_skipped() -> None:
    assert [event.seq for event in number_events(5, SEGMENT, 5)] == [6]


@pytest.mark.parametrize(("until", "kept"), [(4, 0), (5, 2), (6, 4), (7, 4)])
def test_a_message_stays_with_the_event_after_it(until: int, kept: int) -> None:
    segments = [(5, SEGMENT)] if until >= 5 else []
    assert entries_until(segments, until) == SEGMENT[:kept]
