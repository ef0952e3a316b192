"""A2A over HTTP: JSON-RPC, HTTP+JSON, cards and health."""
