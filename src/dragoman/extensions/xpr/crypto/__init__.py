"""Keys and signatures of the chain: secp256k1 and P-256, and the text forms of both."""
