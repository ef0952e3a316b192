"""The exceptions with which the client of A2A has HTTP/1.1 report problems."""

from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.net.http1.client_connection import Http1Errors

__all__ = ("ERRORS",)

ERRORS = Http1Errors(
    unreachable=UnreachableError, cut=CutError, malformed=ProtocolError, timed_out=TimedOutError
)
