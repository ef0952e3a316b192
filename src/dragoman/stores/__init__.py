"""The task log: what is remembered, and the promises of whoever remembers it."""
