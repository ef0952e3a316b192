"""Credentials: what we show to the agents we call."""
