import pytest

from dragoman.server.tasks.pending_write import Draft
from dragoman.stores.base import (
    WHOLE_INBOX,
    JournalEntry,
    Scope,
    Secret,
    SendKey,
    SendRecord,
    TaskWrite,
)

RESULT = JournalEntry(n=1, kind="step", name="pay", result=b"1", seq=2)
LATER = JournalEntry(n=2, kind="step", name="book", result=b"2", seq=4)


def test_all_but_the_end_is_taken_out() -> None:
    draft = Draft()
    draft.entries.append(b"a message")
    for entry in (b"first", b"second", b"the end"):
        draft.add_event(entry)
    assert draft.take_out() == ((b"a message", b"first", b"second"), 2)
    assert (draft.entries, draft.events) == ([b"the end"], 1)


def test_events_alone_are_plain() -> None:
    draft = Draft()
    draft.add_event(b"first")
    assert draft.is_plain
    draft.entries.append(b"a message")
    assert not draft.is_plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal", [RESULT]),
        ("secrets", [Secret(1, b"sealed")]),
        ("inbox_taken", (1,)),
        ("send", SendRecord(key=SendKey(Scope("", "ada"), "m-1"), digest=b"", at_ms=1)),
    ],
)
def test_what_belongs_to_an_event_keeps_it_from_being_plain(name: str, value: object) -> None:
    draft = Draft()
    draft.add_event(b"first")
    setattr(draft, name, value)
    assert not draft.is_plain


def test_what_was_refused_comes_before_what_has_been_added_since() -> None:
    draft = Draft()
    draft.journal.append(LATER)
    draft.inbox_taken = (3,)
    write = TaskWrite(
        task_id="t-1",
        epoch=1,
        expected_seq=2,
        entries=(b"said", b"the end", b"unread"),
        events=2,
        journal=(RESULT,),
        secrets=(Secret(1, b"sealed"),),
        inbox_taken=(2, WHOLE_INBOX),
    )
    draft.put_back(write, but_for=2)
    assert (draft.entries, draft.events) == ([b"said"], 1)
    assert draft.journal == [RESULT, LATER]
    assert draft.secrets == [Secret(1, b"sealed")]
    assert draft.inbox_taken == (3, 2)
