"""The dialect of the XPR network: an early form of 0.2 at ``POST /a2a``."""
