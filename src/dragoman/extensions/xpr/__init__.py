"""XPR: callers are accounts of a chain, known by their keys and trusted by what the chain says."""

from dragoman.extensions.xpr.auth import XprAuth
from dragoman.extensions.xpr.chain.chain import Chain
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.directory import XprDirectory
from dragoman.extensions.xpr.errors import (
    AgentNotFoundError,
    ChainError,
    ChainUnavailableError,
    MalformedError,
    UnknownAccountError,
    WrongCardError,
    XprError,
)
from dragoman.extensions.xpr.presence import XprPresence
from dragoman.extensions.xpr.settings import XprSettings, load_xpr_settings
from dragoman.extensions.xpr.signer import XprSigner
from dragoman.extensions.xpr.trust import TrustPolicy, TrustScore

__all__ = (
    "AgentNotFoundError",
    "AgentRow",
    "Chain",
    "ChainError",
    "ChainUnavailableError",
    "MalformedError",
    "TrustPolicy",
    "TrustScore",
    "UnknownAccountError",
    "WrongCardError",
    "XprAuth",
    "XprDirectory",
    "XprError",
    "XprPresence",
    "XprSettings",
    "XprSigner",
    "load_xpr_settings",
)
