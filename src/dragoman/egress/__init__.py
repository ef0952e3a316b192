"""The one place that checks and pins outgoing addresses which somebody else has named."""

from dragoman.egress.egress import Answer, Egress
from dragoman.egress.errors import DestinationRefusedError, EgressError, NoAnswerError
from dragoman.egress.headers import is_sendable
from dragoman.egress.policy import EgressPolicy, read_allowed
from dragoman.egress.resolving import Resolver
from dragoman.egress.urls import Destination, read_url

__all__ = (
    "Answer",
    "Destination",
    "DestinationRefusedError",
    "Egress",
    "EgressError",
    "EgressPolicy",
    "NoAnswerError",
    "Resolver",
    "is_sendable",
    "read_allowed",
    "read_url",
)
