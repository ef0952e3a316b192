import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings import jsonrpc, sse
from dragoman.bindings.sse import Parser, SseEvent
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import InvalidAgentResponseError
from dragoman.model.documents import EventDocument


def parse(stream: bytes, *, step: int | None = None) -> list[SseEvent]:
    parser = Parser()
    step = step or max(len(stream), 1)
    chunks = [stream[start : start + step] for start in range(0, len(stream), step)]
    return [event for chunk in chunks for event in parser.feed(chunk)]


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.7-1")
def test_a_frame_is_one_data_line() -> None:
    assert sse.frame(b'{"task":{}}') == b'data: {"task":{}}\n\n'


def test_a_frame_may_have_a_number_and_a_name() -> None:
    assert sse.frame(b"{}", seq=5) == b"id: 5\ndata: {}\n\n"
    assert sse.frame(b"{}", event="error") == b"event: error\ndata: {}\n\n"
    assert sse.frame(b"{}", seq=5, event="error") == b"id: 5\nevent: error\ndata: {}\n\n"


def test_a_heartbeat_is_a_comment() -> None:
    assert parse(sse.HEARTBEAT) == []


@pytest.mark.requirement("R-9.4-3")
def test_a_batch_is_written_at_once() -> None:
    batch = (EventDocument(0, b'{"task":{}}'), EventDocument(4, b'{"statusUpdate":{}}'))
    body = sse.frames(
        batch,
        V1_0_DIALECT.frame_writer(),
        prefix=jsonrpc.event_prefix(b"7"),
        suffix=jsonrpc.EVENT_SUFFIX,
    )
    assert body == (
        b'data: {"jsonrpc":"2.0","id":7,"result":{"task":{}}}\n\n'
        b'id: 4\ndata: {"jsonrpc":"2.0","id":7,"result":{"statusUpdate":{}}}\n\n'
    )


@pytest.mark.requirement("R-11.7-1")
@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_what_only_some_take_for_a_line_end_is_escaped(separator: str) -> None:
    event = EventDocument(1, msgspec.json.encode({"text": f"ä{separator}b"}))
    for body in (sse.frames([event], V1_0_DIALECT.frame_writer()), sse.frame(event.json, seq=1)):
        assert len(body.decode().splitlines()) == 3
        assert msgspec.json.decode(Parser().feed(body)[0].data) == {"text": f"ä{separator}b"}


def test_over_http_the_event_is_bare() -> None:
    batch = (EventDocument(4, b'{"statusUpdate":{}}'),)
    assert sse.frames(batch, V1_0_DIALECT.frame_writer()) == sse.frame(batch[0].json, seq=4)
    assert sse.frames((), V1_0_DIALECT.frame_writer()) == b""


# --- reading ------------------------------------------------------------------------------------

_lines = st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))


@given(
    st.lists(st.tuples(st.integers(0, 99), _lines), max_size=5),
    st.sampled_from([b"\n", b"\r", b"\r\n"]),
    st.integers(1, 7),
)
def test_what_is_written_reads_back_in_any_chunks(
    events: list[tuple[int, bytes]], line_end: bytes, step: int
) -> None:
    stream = b"".join(sse.frame(data, seq=seq) + sse.HEARTBEAT for seq, data in events)
    seen = parse(stream.replace(b"\n", line_end), step=step)
    assert [event.data for event in seen] == [data for _, data in events]
    assert [event.id for event in seen if event.id] == [
        str(last)
        for index in range(len(events))
        if (last := next((seq for seq, _ in reversed(events[: index + 1]) if seq), 0))
    ]


def test_data_lines_are_joined() -> None:
    assert parse(b"data: a\ndata:b\ndata\n\n") == [SseEvent(b"a\nb\n")]


def test_one_space_after_the_colon_is_dropped() -> None:
    assert parse(b"data:  a: b\n\n") == [SseEvent(b" a: b")]


def test_the_name_holds_for_one_event_and_the_id_for_all_that_follow() -> None:
    stream = b"event: error\nid: 3\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"
    assert parse(stream) == [
        SseEvent(b"a", "3", "error"),
        SseEvent(b"b", "3"),
        SseEvent(b"c"),
    ]


def test_what_means_nothing_is_skipped() -> None:
    assert parse(b": hello\nretry: 5\nfoo: bar\nid: a\0b\n\nevent: x\n\n") == []


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse(b"\xef\xbb\xbfdata: a\n\ndata: b\n\n", step=1) == [SseEvent(b"a"), SseEvent(b"b")]


def test_an_event_that_is_broken_off_is_dropped() -> None:
    assert parse(b"data: a\n\ndata: b\n") == [SseEvent(b"a")]


def test_a_line_end_may_be_torn_apart() -> None:
    parser = Parser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"") == []
    assert parser.feed(b"\n\r") == [SseEvent(b"a")]
    assert parser.feed(b"\ndata: b\r\r") == [SseEvent(b"b")]


def test_an_event_has_a_limit() -> None:
    parser = Parser(max_event_bytes=20)
    assert parser.feed(b"data: 0123456789\n\n" * 3) == [SseEvent(b"0123456789")] * 3
    parser.feed(b"data: 0123456789\n")
    with pytest.raises(InvalidAgentResponseError):
        parser.feed(b"data: 0123456789\n")


def test_comments_alone_never_reach_the_limit() -> None:
    parser = Parser(max_event_bytes=20)
    for _ in range(100):
        assert parser.feed(b": still here\n\n") == []
