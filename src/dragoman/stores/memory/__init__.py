"""Tasks in memory, for tests."""
