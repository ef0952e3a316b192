"""Signing and verifying Agent Cards."""
