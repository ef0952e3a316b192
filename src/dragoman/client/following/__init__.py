"""Following a task to its end, across dropped connections."""
