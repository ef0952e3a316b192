"""Running tasks: turns, slots, streams, and their way into the store."""
