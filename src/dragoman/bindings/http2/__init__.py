"""HTTP/2 and gRPC's framing on it, as pure functions of bytes: nothing here touches the network."""
