"""What a command works with: the agent it calls, credentials, following a task."""
