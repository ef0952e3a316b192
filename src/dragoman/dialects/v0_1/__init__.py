"""A2A 0.1: JSON-RPC alone, task ids made by the client, parts told apart by ``type``."""
