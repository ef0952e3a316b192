from dragoman.net.http2.protocol.errors import (
    ConnectionFailedError,
    ErrorCode,
    Http2Error,
    StreamFailedError,
)


def test_an_error_says_of_which_kind_it_is_and_why() -> None:
    problem = ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "why")
    assert (problem.code, problem.reason, str(problem)) == (1, "why", "why")
    assert isinstance(problem, Http2Error)


def test_an_error_of_a_stream_says_which() -> None:
    assert StreamFailedError(7, ErrorCode.CANCEL, "").stream == 7
