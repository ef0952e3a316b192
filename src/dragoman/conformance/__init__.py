"""The checker: what A2A demands, and whether a peer does it."""
