"""HTTP/2 (RFC 9113) and HPACK (RFC 7541) as pure functions of bytes: no I/O here."""
