"""A2A 0.2.2 to 0.3 as ProtoJSON: what most peers speak over HTTP+JSON."""
