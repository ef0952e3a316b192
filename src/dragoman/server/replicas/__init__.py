"""Several servers on one store. A server on SQLite does not import this package."""
