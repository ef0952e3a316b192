"""Receiving push notifications."""
