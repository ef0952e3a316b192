"""File content in the protobuf forms of 0.3."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.legacy.file_bytes import (
    FileBytes,
    is_raw,
    likely_habit,
    read_file_bytes,
    write_file_bytes,
)

BINARY = b"\x00\x01\x02\xff"
BINARY_TEXT = b"AAEC/w=="  # its base64


@pytest.mark.parametrize(
    ("data", "media_type", "content"),
    [
        # (1) not base64 text: the content itself, whatever the type
        (BINARY, "", BINARY),
        (BINARY, "image/png", BINARY),
        (b"hello world", "text/plain", b"hello world"),
        (b"abc", "image/png", b"abc"),  # length is not a multiple of 4
        (b"AAEC_w==", "image/png", b"AAEC_w=="),  # URL-safe alphabet
        (b"AAEC\n/w==", "image/png", b"AAEC\n/w=="),
        (b"AAAA====", "image/png", b"AAAA===="),  # too much padding
        (b"AAF=", "image/png", b"AAF="),  # bits that no encoder leaves over
        # (2) base64 text with a type that is not textual
        (BINARY_TEXT, "image/png", BINARY),
        (b"Rome", "image/png", b"\x46\x89\x9e"),
        (b"", "image/png", b""),
        # (3) base64 text with a textual type: only if a text comes out
        (b64encode(b"one\ntwo\t\xc3\xa9\r\n"), "text/csv", b"one\ntwo\t\xc3\xa9\r\n"),
        (b64encode(b'{"a":1}'), "application/json", b'{"a":1}'),
        (b64encode(b"<a/>"), "image/svg+xml; charset=utf-8", b"<a/>"),
        (b64encode(b'{"a":1}'), "Application/Vnd.API+JSON", b'{"a":1}'),
        (b"Rome", "text/plain", b"Rome"),
        (BINARY_TEXT, "application/json", BINARY_TEXT),
        (b64encode(b"a\x00b\x01c\x02"), "text/plain", b64encode(b"a\x00b\x01c\x02")),
        # (3) base64 text without a type: a text comes out, or it is long
        (b64encode(b"a note"), "", b"a note"),
        (b"Rome", "", b"Rome"),
        (b64encode(bytes(45)), "", b64encode(bytes(45))),  # 60 characters
        (b64encode(bytes(48)), "", bytes(48)),  # 64 characters
        (b64encode(bytes(48)), "text/plain", b64encode(bytes(48))),
    ],
)
def test_an_unknown_peer_is_judged_by_its_bytes(
    data: bytes, media_type: str, content: bytes
) -> None:
    assert read_file_bytes(data, media_type) == content


@pytest.mark.parametrize(
    ("pinned", "data", "content"),
    [
        ("raw", BINARY_TEXT, BINARY_TEXT),
        ("base64text", BINARY_TEXT, BINARY),
        ("base64text", b"Rome", b"\x46\x89\x9e"),
        ("base64text", BINARY, BINARY),
    ],
)
def test_a_pinned_peer_is_taken_at_its_word(pinned: FileBytes, data: bytes, content: bytes) -> None:
    assert read_file_bytes(data, "text/plain", pinned=pinned) == content


@pytest.mark.parametrize("data", [BINARY, b"hello world", b"AAEC_w==", b"AAF="])
def test_what_is_not_base64_text_can_only_be_the_content(data: bytes) -> None:
    assert is_raw(data)


@pytest.mark.parametrize("data", [BINARY_TEXT, b"Rome", b""])
def test_what_may_be_base64_text_tells_nothing(data: bytes) -> None:
    assert not is_raw(data)


def test_base64_text_is_written_unless_raw_is_asked_for() -> None:
    assert write_file_bytes(BINARY) == BINARY_TEXT
    assert write_file_bytes(BINARY, pinned="base64text") == BINARY_TEXT
    assert write_file_bytes(BINARY, pinned="raw") == BINARY


@given(content=st.binary(max_size=80), pinned=st.sampled_from(["raw", "base64text"]))
def test_what_is_written_reads_back_when_pinned(content: bytes, pinned: FileBytes) -> None:
    assert read_file_bytes(write_file_bytes(content, pinned=pinned), "", pinned=pinned) == content


@given(content=st.binary(max_size=80))
def test_what_is_written_reads_back_when_the_type_is_not_textual(content: bytes) -> None:
    assert read_file_bytes(write_file_bytes(content), "application/pdf") == content


@pytest.mark.parametrize(
    ("powered_by", "habit"), [("Express", "raw"), ("", None), ("PHP/8.4", None), ("ASP.NET", None)]
)
def test_a_server_on_express_is_likely_to_have_raw_content(
    powered_by: str, habit: FileBytes | None
) -> None:
    assert likely_habit(powered_by) == habit
