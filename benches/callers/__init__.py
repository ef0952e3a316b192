"""The clients of the comparison, each run in an environment of its own."""
