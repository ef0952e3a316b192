"""Which of the two JSON shapes of 0.3 a body has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.v0_3_proto.shape import is_proto_json


@pytest.mark.parametrize(
    "body",
    [
        b'{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}',
        b'{"message":{"content":[{"text":"hi"}]}}',
        b'{"request":{"message_id":"m","content":[{"text":"hi"}]}}',
        b'{"request":{"kind":"message","role":"user"},"message":{"role":"user"}}',
        b'{"message":{"role":"ROLE_USER","parts":[{"text":"hi"}]}}',
        # the later name of content
        b'{"message":{"parts":[{"text":"hi"}]}}',
        # ROLE_* comes before kind
        b'{"message":{"role":"ROLE_USER","kind":"message","parts":[{"kind":"text"}]}}',
        # cannot be told
        b"{}",
        b"[]",
        b"not JSON",
        b"",
        b'{"message":null}',
        b'{"message":{"role":1}}',
        b'{"message":{"parts":[null]}}',
        b'{"message":{"kind":null,"parts":[{"kind":null,"text":"hi"}]}}',
    ],
)
def test_proto_json_is_told_by_its_members(body: bytes) -> None:
    assert is_proto_json(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"message":{"kind":"message","messageId":"m","role":"user","parts":[]}}',
        b'{"message":{"kind":"message"}}',
        b'{"message":{"parts":[{"text":"hi"},{"kind":"text","text":"hi"}]}}',
        b'{"message":{"parts":[{"type":"text","text":"hi"}]}}',
        b'{"message":{"role":"user","parts":[{"text":"hi"}]}}',
        b'{"message":{"role":"agent","parts":[{"text":"hi"}]}}',
    ],
)
def test_the_schema_shape_is_told_by_its_members(body: bytes) -> None:
    assert not is_proto_json(body)


@given(st.binary(max_size=40))
def test_any_bytes_have_a_shape(body: bytes) -> None:
    assert is_proto_json(body) in (True, False)
