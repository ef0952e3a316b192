"""Calling agents, of whatever version and binding. Start at ``dragoman.client.connect``."""
