"""Sockets without A2A: one port, TLS, HTTP/1.1 and HTTP/2."""
