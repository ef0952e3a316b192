"""A2A 0.2 and 0.3 as JSON: on JSON-RPC, and on HTTP+JSON in the shape of the JSON schema."""
