"""Fakes for testing agents, and the suites that every implementation of a port must pass."""
