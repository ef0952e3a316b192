"""A2A over gRPC."""
