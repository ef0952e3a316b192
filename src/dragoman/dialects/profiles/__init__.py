"""Profiles: what single networks and frameworks have made of a version."""
