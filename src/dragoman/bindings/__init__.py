"""Wire bytes to calls and back: pure framing, the same file for server and client."""
