"""Ports: what answers A2A operations, and what does the work of a turn."""
