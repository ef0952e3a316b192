"""HTTP/1.1: the server's connections and the client's."""
