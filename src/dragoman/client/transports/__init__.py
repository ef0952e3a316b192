"""Sending a request over HTTP or gRPC."""
