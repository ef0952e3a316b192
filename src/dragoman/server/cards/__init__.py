"""The Agent Cards that the server publishes."""
