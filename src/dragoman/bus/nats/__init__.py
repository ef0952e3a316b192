"""The bus over NATS."""
