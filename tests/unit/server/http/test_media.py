import pytest

from dragoman.errors import UnsupportedMediaTypeError
from dragoman.server.http.media import (
    A2A_JSON,
    JSON,
    check_is_json,
    check_is_plain,
    rest_content_type,
)

JSON_TYPE = JSON.decode()
A2A_TYPE = A2A_JSON.decode()


@pytest.mark.parametrize(
    "label",
    [
        JSON_TYPE,
        A2A_TYPE,
        # Case and parameters do not matter.
        "Application/JSON; charset=utf-8",
        f" {A2A_TYPE} ;version=1.0",
    ],
)
def test_json_is_read(label: str) -> None:
    check_is_json({b"content-type": label})


def test_a_body_without_a_label_is_taken_for_json() -> None:
    check_is_json({})


@pytest.mark.requirement("R-9.1-2")
@pytest.mark.parametrize("label", ["text/plain", "application/jsonp", "multipart/form-data", ""])
def test_another_label_is_refused_and_told(label: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=f"not {label}$"):
        check_is_json({b"content-type": label})


def test_of_a_long_label_the_beginning_is_told() -> None:
    with pytest.raises(UnsupportedMediaTypeError) as caught:
        check_is_json({b"content-type": "x" * 5000})
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        # What the request is made of does not count.
        ({b"content-type": JSON_TYPE}, A2A_JSON),
        ({b"content-type": JSON_TYPE, b"accept": A2A_TYPE}, A2A_JSON),
        ({b"content-type": A2A_TYPE, b"accept": JSON_TYPE}, JSON),
        ({b"accept": JSON_TYPE}, JSON),
        ({b"accept": f"{JSON_TYPE}, text/event-stream"}, JSON),
        # What is named is preferred to what a range covers, if that is not liked better.
        ({b"accept": f"{JSON_TYPE}, text/plain, */*"}, JSON),
        ({b"accept": f"{JSON_TYPE};q=0.5, */*"}, A2A_JSON),
        ({b"accept": f"{JSON_TYPE};q=0.9, {A2A_TYPE};q=0.8"}, JSON),
        ({b"accept": f"{JSON_TYPE};q=0.8, {A2A_TYPE};q=0.9"}, A2A_JSON),
        ({b"accept": f"*/*, {A2A_TYPE};q=0"}, JSON),
        ({b"accept": f"{JSON_TYPE};q=0"}, A2A_JSON),
        ({b"accept": f"{JSON_TYPE};q=high"}, JSON),
        ({b"accept": "application/*"}, A2A_JSON),
        ({b"accept": ",;,"}, A2A_JSON),
        ({b"accept": f"text/html, {JSON_TYPE};q=0.9"}, JSON),
        ({b"accept": f"{JSON_TYPE}, {A2A_TYPE}"}, A2A_JSON),
        ({b"accept": "*/*"}, A2A_JSON),
        ({b"content-type": "text/plain", b"accept": JSON_TYPE}, JSON),
        # Nothing is said: the protocol's own.
        ({}, A2A_JSON),
    ],
)
def test_the_answer_comes_in_the_type_of_a2a_unless_the_other_is_preferred(
    headers: dict[bytes, str], expected: bytes
) -> None:
    assert rest_content_type(headers, force_json=False) == expected


def test_a_server_may_be_told_to_answer_plain_json() -> None:
    assert rest_content_type({b"content-type": A2A_TYPE}, force_json=True) == JSON


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_a_body_as_it_is_is_read(coding: str) -> None:
    check_is_plain({b"content-encoding": coding})
    check_is_plain({})


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd", "identity, gzip"])
def test_a_compressed_body_is_not(coding: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=f"not with Content-Encoding {coding}"):
        check_is_plain({b"content-encoding": coding})
