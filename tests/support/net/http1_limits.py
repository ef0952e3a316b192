"""What a peer of HTTP/1.1 may take where a test sets nothing else."""

from dragoman.net.limits import Http1Limits
from dragoman.server.limits import limits_of
from dragoman.server.settings import Settings

__all__ = ("DEFAULT_LIMITS",)

DEFAULT_LIMITS = limits_of(Settings(), Http1Limits)
