"""Authenticators: who calls us."""
