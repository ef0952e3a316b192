import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings.grpc.framing import (
    ANSWER,
    OK,
    GrpcFailedError,
    MessageReader,
    answer_block,
    frame_message,
    http_refusal_block,
    is_grpc,
    refusal_block,
    timeout_of,
    trailer_block,
)
from dragoman.net.http2.protocol.hpack import Decoder, Header
from dragoman.net.http2.protocol.requests import Head

BOMB = gzip.compress(b"x" * 10_000_000, mtime=0)


def head(*fields: Header, method: bytes = b"POST") -> Head:
    return Head(method, b"/a", fields, None)


def reader(*fields: Header, max_bytes: int = 1000) -> MessageReader:
    return MessageReader(head(*fields), max_bytes)


def compressed(message: bytes) -> bytes:
    return b"\x01" + len(message).to_bytes(4, "big") + message


def headers_of(block: bytes) -> dict[bytes, bytes]:
    return dict(Decoder(100_000).decode(block))


# --- messages ---------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=100)), st.lists(st.integers(0, 50)))
def test_messages_are_read_as_they_were_framed_however_they_come(
    messages: list[bytes], cuts: list[int]
) -> None:
    body = b"".join(map(frame_message, messages))
    reading = reader()
    found: list[bytes] = []
    for cut in cuts:
        found += reading.read(body[:cut])
        body = body[cut:]
    found += reading.read(body)
    assert found == messages
    assert reading.is_between


def test_a_message_tells_how_much_of_it_is_missing() -> None:
    reading = reader()
    framed = frame_message(b"x" * 100)
    assert reading.read(framed[:3]) == []
    assert (reading.missing, reading.is_between) == (0, False)
    reading.read(framed[3:10])
    assert reading.missing == 95
    assert reading.read(framed[10:]) == [b"x" * 100]
    assert (reading.missing, reading.is_between) == (0, True)


@pytest.mark.parametrize(
    ("encoding", "compress"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)]
)
def test_a_compressed_message_is_unpacked(
    encoding: bytes, compress: Callable[[bytes], bytes]
) -> None:
    reading = reader((b"grpc-encoding", encoding))
    assert reading.read(compressed(compress(b"x" * 1000)) + frame_message(b"y")) == [
        b"x" * 1000,
        b"y",
    ]


@pytest.mark.parametrize(
    ("fields", "body", "code"),
    [
        # Too long; and too long once it is unpacked.
        ((), frame_message(b"x" * 1001), 8),
        ((), b"\x00\xff\xff\xff\xff", 8),
        (((b"grpc-encoding", b"gzip"),), compressed(gzip.compress(b"x" * 1001, mtime=0)), 8),
        (
            ((b"grpc-encoding", b"gzip"),),
            compressed(BOMB[:900]),
            8,
        ),
        # Compressed in ways that are not known, not told, or not true.
        (((b"grpc-encoding", b"snappy"),), compressed(b"x"), 12),
        ((), compressed(b"x"), 13),
        (((b"grpc-encoding", b"gzip"),), compressed(b"x"), 13),
        (((b"grpc-encoding", b"gzip"),), compressed(gzip.compress(b"x" * 99, mtime=0)[:-1]), 13),
        (((b"grpc-encoding", b"gzip"),), compressed(b"not packed at all"), 13),
        ((), b"\x02\x00\x00\x00\x00", 13),
    ],
)
def test_a_message_that_cannot_be_taken_is_a_status(
    fields: tuple[Header, ...], body: bytes, code: int
) -> None:
    with pytest.raises(GrpcFailedError) as told:
        reader(*fields).read(body)
    assert told.value.code == code


@given(st.binary(max_size=100), st.sampled_from([b"gzip", b"deflate", b"identity", b"x"]))
def test_bytes_of_any_kind_are_messages_or_a_status(body: bytes, encoding: bytes) -> None:
    try:
        reader((b"grpc-encoding", encoding)).read(body)
    except GrpcFailedError as problem:
        assert problem.code in (8, 12, 13)  # noqa: PT017 - any of them may be


# --- heads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        (b"application/grpc", True),
        (b"application/grpc+proto", True),
        (b"application/grpc; charset=utf-8", True),
        (b"application/grpc+json", False),
        (b"application/grpc-web", False),
        (b"application/json", False),
    ],
)
def test_a_call_is_told_by_its_content_type(media_type: bytes, *, expected: bool) -> None:
    assert is_grpc(head((b"content-type", media_type))) is expected


def test_what_is_no_post_is_no_call() -> None:
    assert not is_grpc(head((b"content-type", b"application/grpc"), method=b"GET"))
    assert not is_grpc(head((b"a", b"b")))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"1H", 3600), (b"2M", 120), (b"3S", 3), (b"4m", 0.004), (b"5u", 5e-6), (b"99999999n", 0.1)],
)
def test_a_timeout_is_read(value: bytes, seconds: float) -> None:
    assert timeout_of(head((b"grpc-timeout", value))) == pytest.approx(seconds)


@pytest.mark.parametrize("value", [b"", b"1", b"S", b"123456789S", b"-1S", b"1s", b"1.5S"])
def test_a_timeout_that_is_none_is_refused(value: bytes) -> None:
    with pytest.raises(GrpcFailedError):
        timeout_of(head((b"grpc-timeout", value)))


def test_a_caller_may_wait_forever() -> None:
    assert timeout_of(head((b"te", b"trailers"))) is None


# --- answers ----------------------------------------------------------------------------------


def test_an_answer_has_a_content_type_and_a_status() -> None:
    assert headers_of(ANSWER) == {b":status": b"200", b"content-type": b"application/grpc"}
    assert headers_of(OK) == {b"grpc-status": b"0"}


def test_metadata_is_told_as_text_or_in_base64() -> None:
    told = headers_of(answer_block([("a", "b"), ("c-bin", b"\xff\x00"), ("d", "line\nbreak ä")]))
    assert told[b"a"] == b"b"
    assert told[b"c-bin"] == b"/wA"
    # What no header can hold is not worth a broken answer.
    assert told[b"d"] == b"line?break ?"


@pytest.mark.parametrize(
    ("details", "written"),
    [
        ("plain text", b"plain text"),
        ("100 %", b"100 %25"),
        ("a\nb", b"a%0Ab"),
        ("ü", b"%C3%BC"),
        ("\ud800", b"%3F"),
    ],
)
def test_a_status_has_a_text_in_printable_ascii(details: str, written: bytes) -> None:
    told = headers_of(trailer_block(5, details, [("x-bin", b"1")]))
    assert told[b"grpc-status"] == b"5"
    assert told[b"grpc-message"].replace(b"?", b"%3F") == written
    assert told[b"x-bin"] == b"MQ"


def test_a_refusal_is_one_block_and_tells_what_could_be_unpacked() -> None:
    told = headers_of(refusal_block(12, "no"))
    assert told[b":status"] == b"200"
    assert told[b"grpc-status"] == b"12"
    assert told[b"grpc-accept-encoding"] == b"identity,deflate,gzip"


def test_one_who_does_not_speak_grpc_is_answered_in_http() -> None:
    told = headers_of(http_refusal_block(415, 7))
    assert (told[b":status"], told[b"content-length"]) == (b"415", b"7")
